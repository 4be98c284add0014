#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# One process: ended soon after its budget, with the reason

. "$(dirname "$0")/../../lib/system.sh"
. "$repo/tests/lib/limits.sh"

need_limits

run_helper --cpu-time 500ms -t 60 -- eat-cpu 100000
assert_ended 137 cpu_limit cpu_time
assert_eq "$stdout" ""
assert_contains "$stderr" ": cpu_limit after "
assert_eq "$(json .limits.cpu_time_ms)" 500 "limit"
assert_ge "$(json .usage.cpu.usage_us)" 500000 "CPU time"
assert_le "$(json .usage.cpu.usage_us)" $((500000 + $(scaled 500000))) "CPU time"
