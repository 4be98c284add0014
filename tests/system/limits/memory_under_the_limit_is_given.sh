#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Just under the limit nothing happens, and the peak is what was touched
# security

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/limits.sh"

need_limits

run_helper -m 32M -- eat-memory anon 29360128
assert_at_ease
assert_eq "$stdout" "ate 29360128"
assert_eq "$(json .limits.memory_max_bytes)" 33554432 "limit"
assert_eq "$(json .receipt.cgroup.limits.memory_max_bytes.value)" 33554432 "limit in the kernel"
assert_ge "$(json .usage.memory.peak_bytes)" 29360128 "peak"
assert_le "$(json .usage.memory.peak_bytes)" 33554432 "peak"
assert_match "$(json .usage.memory.source)" '^memory\.(peak|max_usage_in_bytes)$' "its source"
assert_ge "$(json .usage.memory.largest_process_bytes)" 29360128 "largest process"
