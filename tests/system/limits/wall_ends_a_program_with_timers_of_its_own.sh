#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# setitimer and alarm of the payload are its own, and do not disturb ours
# security

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/limits.sh"

need_limits
check_leaks

for limit in "${time_limits[@]}"; do
	run_helper -t "${limit}ms" -- hold-pipe alarms
	[ "$stdout" != ready ] || break
done
assert_ended 124 wall_timeout wall
assert_eq "$stdout" ready
assert_ran_for "$limit"
