# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# Runs that wait to be followed; after system.sh, store.sh and telemetry.sh
#
# A run started here waits for a line on its standard input, so that nothing happens in
# it before the test says so.

# start_waiting NAME OPTION... -- PROGRAM...: a run in the background whose program begins when go
# NAME is said.  Sets $supervisor and $id; its result is $tmp/NAME.json.
start_waiting()
{
	local name=$1

	shift
	mkfifo "$tmp/$name.in"
	jq -n --arg name "$name" '{schema: "menace.spec/1", name: $name}' >"$tmp/$name.spec"
	"$MENACE_RUN" -q -t "$(scaled 120)" --spec "$tmp/$name.spec" -o "$tmp/$name.json" --ro "$helper:/processes" "$@" \
		<"$tmp/$name.in" >"$tmp/$name.out" 2>"$tmp/$name.err" &
	# shellcheck disable=SC2034 # for the tests
	supervisor=$!
	exec {fd}>"$tmp/$name.in"
	inputs[$name]=$fd
	wait_until 30 run_waits "$name" || fail "run $name does not begin"
	# shellcheck disable=SC2034 # for the tests
	id=$("$MENACE" top --json | jq -r --arg name "$name" '.runs[] | select(.name == $name) | .run_id')
}
declare -A inputs

run_waits()
{
	grep -q -x waiting "$tmp/$1.out"
}

# go NAME: the program goes on.
go()
{
	local fd=${inputs[$1]}

	echo go >&"$fd"
	exec {fd}>&-
}

# follow RUN FILE [OPTION...]: in the background, as $follower; it has connected when this returns.
follow()
{
	"$MENACE" events --follow --json "$1" "${@:3}" >"$2" 2>"$2.err" &
	# shellcheck disable=SC2034 # for the tests
	follower=$!
	wait_until 30 test -s "$2" || fail "the follower hears nothing: $(cat "$2.err")"
}

# end_of PID: waits for it, sets $status.
end_of()
{
	wait "$1"
	# shellcheck disable=SC2034 # for the tests
	status=$?
}

list_askers()
{
	find /run/menace/leases -name '.follow-*' 2>/dev/null
}
