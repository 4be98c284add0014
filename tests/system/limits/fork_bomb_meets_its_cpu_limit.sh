#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# The same bomb with a CPU budget ends by that
# security

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/limits.sh"

need_limits
check_leaks

run_helper --pids 32 --cpu-time 1 -t 60 -- fork-bomb forever
assert_cpu_killed 1000 "cpu_time pids"
