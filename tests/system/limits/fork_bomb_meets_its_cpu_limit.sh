#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# The same bomb with a CPU budget ends by that
# security

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/limits.sh"

need_limits
check_leaks

assert_cpu_killed 1000 1500 "cpu_time pids" run_helper --pids 128 --cpu-time 1 -t 60 -- fork-bomb forever
