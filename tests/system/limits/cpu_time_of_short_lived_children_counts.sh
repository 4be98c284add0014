#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# A tree in which no process grows old cannot outlive its budget
# security

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/limits.sh"

need_limits
check_leaks

assert_cpu_killed 500 500 cpu_time run_helper --cpu-time 500ms -t 60 -- eat-cpu 10 2 1 10000
