#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# 500 ms of CPU at half a CPU take about a second, and the kernel says that it held back
# security

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/limits.sh"

need_limits

assert_held_back 1000 run_helper --cpus 0.5 -- eat-cpu 500
assert_eq "$(json .receipt.cgroup.limits.cpu_quota_us.value)" 50000 "quota"
assert_eq "$(json .limits.cpus)" 0.5 "limit"
assert_ge "$(json .usage.cpu.usage_us)" 500000 "CPU time"
