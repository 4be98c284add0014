#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# One SIGTERM that the program ignores: killed after the grace time, 128 + the signal

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/limits.sh"

need_limits
check_leaks

start -s limits.grace_ms=500 -t 60 -- /helpers/hold-pipe deaf
wait_for_line ready
kill -TERM "$supervisor"
finish
assert_status 143
assert_reason killed_by_user
assert_eq "$(json .exit.signal_name)" KILL "signal"
assert_ran_for 500
