#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Ctrl-C twice does not wait for the grace time

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/limits.sh"

need_limits
check_leaks

start -s limits.grace_ms=60s -t 120 -- /helpers/hold-pipe deaf
wait_for_line ready
start_clock
kill -INT "$supervisor"
# Two that wait to be taken are one.
first_is_taken()
{
	[ $((0x$(sed -n 's/^ShdPnd:\t//p' "/proc/$supervisor/status") & 1 << $(kill -l INT) - 1)) -eq 0 ]
}
wait_until 10 first_is_taken || fail "nobody takes the first"
sleep 0.3
lives "$supervisor" || fail "ended at the first"
kill -INT "$supervisor"
finish
assert_status 130
assert_reason killed_by_user
assert_soon 0
