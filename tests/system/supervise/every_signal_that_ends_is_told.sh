#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Whatever signal ends the supervisor, the run is ended in order, with a result; what its caller ignores
# goes on to be ignored (nohup)
# security

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/limits.sh"

need_limits
check_leaks

for signal in HUP QUIT ALRM XCPU VTALRM PROF STKFLT IO PWR RTMIN RTMAX; do
	start -s limits.grace_ms=0 -t "$(scaled 50)" -- /helpers/hold-pipe deaf
	wait_for_line ready
	kill -"$signal" "$supervisor"
	finish
	assert_status $((128 + $(kill -l "$signal")))
	assert_reason killed_by_user
done

# The two that are ignored come first: the program has not seen them when TERM ends it.
trap '' HUP
start -t "$(scaled 50)" -- sh -c 'trap "echo term; exit 5" TERM; trap "echo hup" HUP; echo ready; while :; do sleep 0.05; done'
trap "fail 'ended by SIGHUP from outside'" HUP
wait_for_line ready
kill -HUP "$supervisor"
kill -TERM "$supervisor"
wait_for_line term
finish
assert_status 5
assert_eq "${stdout/hup/}" "$stdout" "what the program met"
