#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# A tree in which no process grows old cannot outlive its budget
# serial

. "$(dirname "$0")/../../lib/system.sh"
. "$repo/tests/lib/limits.sh"

need_limits
check_leaks

run_helper --cpu-time 500ms -t 60 -- eat-cpu 10 2 1 10000
assert_ended 137 cpu_limit cpu_time
assert_le "$(json .usage.cpu.usage_us)" $((500000 + $(scaled 500000))) "CPU time"
