#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Four processes with a quarter each use it up together
# serial

. "$(dirname "$0")/../../lib/system.sh"
. "$repo/tests/lib/limits.sh"

need_limits
check_leaks

run_helper --cpu-time 800ms -t 60 -- eat-cpu 400 4
assert_ended 137 cpu_limit cpu_time
assert_eq "$stdout" ""
assert_le "$(json .usage.cpu.usage_us)" $((800000 + $(scaled 500000))) "CPU time"
