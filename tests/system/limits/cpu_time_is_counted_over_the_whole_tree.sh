#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Four processes that each stay below it use it up together, and others after them
# security

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/limits.sh"

need_limits
check_leaks

run_helper --cpu-time 400ms -t 60 -- eat-cpu 200 4 1 1000
assert_cpu_killed 400 cpu_time
assert_eq "$stdout" ""
