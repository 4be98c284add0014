#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# One process: ended soon after its budget, with the reason
# security

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/limits.sh"

need_limits

assert_cpu_killed 500 500 cpu_time run_helper --cpu-time 500ms -t 60 -- eat-cpu 100000
assert_eq "$stdout" ""
assert_contains "$stderr" ": cpu_limit after "
assert_eq "$(json .limits.cpu_time_ms)" 500 "limit"
