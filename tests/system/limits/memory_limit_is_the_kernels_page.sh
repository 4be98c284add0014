#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# A limit that is not whole pages is kept, rounded down by less than a page
# security

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/limits.sh"

need_limits

run -m 33554999 -- true
assert_at_ease
assert_eq "$(json .limits.memory_max_bytes)" 33554999 "limit"
assert_eq "$(json .receipt.cgroup.limits.memory_max_bytes.value)" 33554432 "limit in the kernel"
