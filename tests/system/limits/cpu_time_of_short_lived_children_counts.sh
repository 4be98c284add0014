#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# A tree in which no process grows old cannot outlive its budget
# security
# kernel

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/limits.sh"

need_limits
check_leaks

run_helper --cpu-time 300ms -t 60 -- eat-cpu 10 2 1 10000
assert_cpu_killed 300 cpu_time
