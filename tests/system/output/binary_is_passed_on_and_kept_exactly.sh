#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# All 256 bytes, NUL among them

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/limits.sh"

need_limits

# shellcheck disable=SC2059 # the escapes are the format
printf "$(printf '\\x%02x' {0..255})" >"$tmp/binary"
run --stdin "$tmp/binary" -- cat
assert_at_ease
cmp "$tmp/stdout" "$tmp/binary" || fail "what was passed on differs"
assert_eq "$(json .stdout.encoding)" base64 "encoding"
json .stdout.base64 | base64 -d | cmp - "$tmp/binary" || fail "what was kept differs"
