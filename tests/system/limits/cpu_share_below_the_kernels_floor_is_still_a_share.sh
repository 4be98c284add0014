#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# A hundredth of a CPU is what the kernel can do at its usual period; the receipt says so
# security

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/limits.sh"

need_limits

run --cpus 0.01 -t "$(scaled 30)" -- true
assert_at_ease
quota=$(json .receipt.cgroup.limits.cpu_quota_us.value)
assert_eq "$quota" 1000 "quota"
