#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# The first and the last bytes, the true total, and how many are left out

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/limits.sh"

need_limits

run -s output.head_bytes=100 -s output.tail_bytes=50 -- seq 1 100000
assert_at_ease
seq 1 100000 >"$tmp/expected"
cmp "$tmp/stdout" "$tmp/expected" || fail "what was passed on differs"
json '.stdout.head + "."' >"$tmp/head"
json '.stdout.tail + "."' >"$tmp/tail"
assert_eq "$(cat "$tmp/head")" "$(head -c 100 "$tmp/expected")." "head"
assert_eq "$(cat "$tmp/tail")" "$(tail -c 50 "$tmp/expected"; echo .)" "tail"
assert_eq "$(json .stdout.bytes)" "$(stat -c %s "$tmp/expected")" "bytes"
assert_eq "$(json .stdout.omitted_bytes)" $(($(json .stdout.bytes) - 150)) "omitted bytes"
assert_eq "$(json .stdout.truncated)" true "truncated"
assert_eq "$(json .stdout.text)" null "text"
