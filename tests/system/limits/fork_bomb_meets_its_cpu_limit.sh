#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# The same bomb with a CPU budget ends by that
# serial

. "$(dirname "$0")/../../lib/system.sh"
. "$repo/tests/lib/limits.sh"

need_limits
check_leaks

run_helper --pids 128 --cpu-time 1 -t 60 -- fork-bomb forever
assert_ended 137 cpu_limit "cpu_time pids"
assert_le "$(json .usage.cpu.usage_us)" $((1000000 + $(scaled 1500000))) "CPU time"
