#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Ctrl-C twice does not wait for the grace time
# serial
# any kernel

. "$(dirname "$0")/../../lib/system.sh"
. "$repo/tests/lib/limits.sh"

need_limits
check_leaks

start -s limits.grace_ms=60s -t 60 -- /helpers/hold-pipe deaf
wait_for_line ready
start_clock
kill -INT "$supervisor"
sleep 0.3
[ -d "/proc/$supervisor" ] || fail "ended at the first"
kill -INT "$supervisor"
finish
assert_status 130
assert_reason killed_by_user
assert_soon 0
