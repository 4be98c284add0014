#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# No swap unless asked for: the kernel shows a swap limit of 0
# security
# kernel

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/limits.sh"

need_limits

run -m 32M -- true
assert_at_ease
assert_eq "$(json .limits.swap_max_bytes)" 0 "limit"
shown=$(json .receipt.cgroup.limits.swap_max_bytes.value)
[ "$shown" = 0 ] || [ "$(json .receipt.cgroup.limits.swap_max_bytes)" = null ] ||
	fail "the kernel's swap limit is $shown"
