#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# The same eight with little each

. "$(dirname "$0")/../../lib/system.sh"
. "$repo/tests/lib/limits.sh"

need_limits

run_helper -m 64M -- eat-memory anon 2097152 8
assert_at_ease
assert_eq "$(tail -n 1 "$tmp/stdout")" "children: 8 ended, 0 killed"
assert_ge "$(json .usage.memory.peak_bytes)" 16777216 "peak of the tree"
assert_le "$(json .usage.memory.largest_process_bytes)" 8388608 "largest process"
