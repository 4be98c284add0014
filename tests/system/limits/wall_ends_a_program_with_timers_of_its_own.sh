#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# setitimer and alarm of the payload are its own, and do not disturb ours
# serial

. "$(dirname "$0")/../../lib/system.sh"
. "$repo/tests/lib/limits.sh"

need_limits
check_leaks

run_helper -t 1 -- hold-pipe alarms
assert_ended 124 wall_timeout wall
assert_eq "$stdout" ready
assert_soon 1000
