#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Once the program has ended and left nothing, the sandbox ends by itself: while we are stopped;
# whoever was left behind is there until we have counted and killed him

. "${0%/*}/../../lib/system.sh"

mkdir "$tmp/shown"
ours=
end_ours()
{
	[ -z "$ours" ] || kill -KILL "$ours"
}
at_exit end_ours

# start PROGRAM: run inside once we are stopped.
start()
{
	"$MENACE_RUN" -q -o "$result" --rw "$tmp/shown:/shown" -- sh -c \
		": >/shown/ready; until [ -e /shown/go ]; do sleep 0.01; done; $1" &
	ours=$!
	wait_until 20 test -e "$tmp/shown/ready" || fail "the program does not begin"
	read -r init <"/proc/$ours/task/$ours/children"
	kill -STOP "$ours"
	: >"$tmp/shown/go"
}

init_state()
{
	cut -d ' ' -f 3 "/proc/$init/stat"
}

is_over()
{
	[ "$(init_state)" = Z ]
}

finish()
{
	kill -CONT "$ours"
	wait "$ours"
	assert_eq "$?" 0 "status"
	ours=
	rm "$tmp/shown/"*
}

start :
wait_until 20 is_over || fail "the sandbox waits for us: its init is $(init_state)"
finish
assert_eq "$(json .leftover_killed)" 0 "leftovers of a program that leaves none"

# An orphan is init's child.
start 'sh -c "until [ \$(cut -d \" \" -f 4 /proc/\$\$/stat) = 1 ]; do :; done; : >/shown/left; exec sleep 60" &'
wait_until 20 test -e "$tmp/shown/left" || fail "no orphan is left"
assert_ne "$(init_state)" Z "state of the sandbox's init while somebody is left"
finish
assert_eq "$(json .leftover_killed)" 1 "leftovers"
