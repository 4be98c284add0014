#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# The same eight with little each
# security

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/limits.sh"

need_limits

run_helper -m 64M -- eat-memory anon 2097152 8
assert_at_ease
assert_eq "$(tail -n 1 "$tmp/stdout")" "children: 8 ended, 0 killed"
assert_ge "$(json .usage.memory.peak_bytes)" 16777216 "peak of the tree"
largest=$(json .usage.memory.largest_process_bytes)
# Our own program before it becomes the payload counts, too: with sanitizers it is the largest.
run -m 64M -- true
own=$(json .usage.memory.largest_process_bytes)
assert_le "$largest" $((own + 524288 > 8388608 ? own + 524288 : 8388608)) "largest process, ours being $own"
