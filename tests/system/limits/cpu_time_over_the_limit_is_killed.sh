#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# One process: ended when its budget is used up, with the reason
# security
# kernel gate

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/limits.sh"

need_limits

run_helper --cpu-time 500ms -t 60 -- eat-cpu 100000
assert_cpu_killed 500 cpu_time
assert_eq "$stdout" ""
assert_contains "$stderr" ": cpu_limit after "
assert_eq "$(json .limits.cpu_time_ms)" 500 "limit"
