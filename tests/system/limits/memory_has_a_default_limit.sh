#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Without a word about memory the limit is 512 MiB, in the kernel; "unlimited" is none, and not the default
# security

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/limits.sh"

need_limits

limit()
{
	json '"\(.limits.memory_max_bytes) \(.receipt.cgroup.limits.memory_max_bytes.value)"'
}
run -- true
assert_at_ease
assert_eq "$(limit)" "536870912 536870912" "limit by default"
run -m unlimited -- true
assert_at_ease
assert_match "$(limit)" '^unlimited (unlimited|null)$' "no limit"
