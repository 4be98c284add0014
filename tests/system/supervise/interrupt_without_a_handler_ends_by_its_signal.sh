#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# A program that has no handler dies of the signal, as it would without us; the
# reason says that the caller wanted it

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/limits.sh"

need_limits

for name in INT TERM HUP QUIT; do
	start -t 60 -s limits.grace_ms=60s -- sh -c 'echo ready; exec sleep 1001'
	wait_for_line ready
	kill "-$name" "$supervisor"
	finish
	assert_status $((128 + $(kill -l "$name")))
	assert_reason killed_by_user
	assert_eq "$(json .exit.signal_name)" "$name" "signal"
done

# The same signals from inside are the program's own, whoever is asked later.
run -- sh -c 'kill -TERM $$'
assert_status 143
assert_reason signaled

# A signal that does not mean the end is no interrupt.
start -- sh -c 'echo ready; exec sleep 1001'
wait_for_line ready
kill -USR1 "$supervisor"
finish
assert_status $((128 + $(kill -l USR1)))
assert_reason signaled
