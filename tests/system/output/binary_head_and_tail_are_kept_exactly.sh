#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Also when the middle is left out

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/limits.sh"

need_limits

seq 1 200000 | gzip -n | head -c 300000 >"$tmp/binary"
assert_eq "$(stat -c %s "$tmp/binary")" 300000 "bytes"
run --stdin "$tmp/binary" -- cat
assert_at_ease
cmp "$tmp/stdout" "$tmp/binary" || fail "what was passed on differs"
assert_eq "$(json .stdout.encoding)" base64 "encoding"
json .stdout.head | base64 -d | cmp - <(head -c 65536 "$tmp/binary") || fail "the head differs"
json .stdout.tail | base64 -d | cmp - <(tail -c 65536 "$tmp/binary") || fail "the tail differs"
