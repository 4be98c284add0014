#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# A daemon that left its parent is still of the tree
# security

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/limits.sh"

need_limits
check_leaks

run --ro "$helpers:/helpers" --cpu-time 250ms -t 60 -- \
	sh -c '(setsid /helpers/eat-cpu 100000 &) ; sleep 1001'
assert_cpu_killed 250 cpu_time
