#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# A stopped program is continued so that it can obey
# serial

. "$(dirname "$0")/../../lib/system.sh"
. "$repo/tests/lib/limits.sh"

need_limits
check_leaks

start -t 60 -s limits.grace_ms=500 -- sh -c 'echo ready; kill -STOP $$; sleep 1001'
wait_for_line ready
start_clock
kill -TERM "$supervisor"
finish
assert_status 143
assert_reason killed_by_user
assert_le "$elapsed_ms" "$(scaled 3000)" "elapsed milliseconds"
