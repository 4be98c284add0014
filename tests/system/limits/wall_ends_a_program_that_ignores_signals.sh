#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Nothing is asked: the kernel kills
# serial

. "$(dirname "$0")/../../lib/system.sh"
. "$repo/tests/lib/limits.sh"

need_limits
check_leaks

run_helper -t 1 -- hold-pipe deaf
assert_ended 124 wall_timeout wall
assert_eq "$stdout" ready
assert_soon 1000
