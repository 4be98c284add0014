#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Head and tail of 0: only the total

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/limits.sh"

need_limits

run -s output.head_bytes=0 -s output.tail_bytes=0 -- seq 1 1000
assert_at_ease
assert_eq "$(json .stdout.bytes)" 3893 "bytes"
assert_eq "$(json .stdout.omitted_bytes)" 3893 "omitted bytes"
assert_eq "$(json .stdout.head)" "" "head"
assert_eq "$(sha256sum <"$tmp/stdout")" "$(seq 1 1000 | sha256sum)" "what was passed on"
