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
	gojq -n --arg name "$name" '{schema: "menace.spec/1", name: $name}' >"$tmp/$name.spec"
	"$MENACE_RUN" -q -t "$(scaled 120)" --spec "$tmp/$name.spec" -o "$tmp/$name.json" --ro "$helper:/processes" "$@" \
		<"$tmp/$name.in" >"$tmp/$name.out" 2>"$tmp/$name.err" &
	# shellcheck disable=SC2034 # for the tests
	supervisor=$!
	exec {fd}>"$tmp/$name.in"
	inputs[$name]=$fd
	wait_until 30 run_waits "$name" || fail "run $name does not begin"
	# shellcheck disable=SC2034 # for the tests
	id=$(id_of "$supervisor")
}
declare -A inputs

# id_of PID: of the run whose supervisor that is; a name says less, as another test may use it too.
id_of()
{
	"$MENACE" top --json | gojq -r --argjson pid "$1" '.runs[] | select(.supervisor_pid == $pid) | .run_id'
}

run_waits()
{
	grep -q -s -x waiting "$tmp/$1.out"
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
	rm -f "$2" # what another one heard is not heard by this one
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

# list_askers RUN: names of those that ask to follow it; with "" all, also those of other tests.
list_askers()
{
	find /run/menace/leases -name ".follow-$1*" 2>/dev/null
}
