#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Without a word about memory the limit is 512 MiB
# security

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/limits.sh"

need_limits

run_helper -t 60 -- eat-memory anon 566231040
assert_oom
assert_eq "$(json .limits.memory_max_bytes)" 536870912 "limit"
