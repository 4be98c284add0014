#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# A head that ends within a character of UTF-8 stays text
# sanitizers

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/limits.sh"

need_limits

run -s output.head_bytes=4 -s output.tail_bytes=4 -- printf '€€€€'
assert_eq "$(json .stdout.encoding)" utf-8 "encoding"
assert_eq "$(json .stdout.head)" € "head"
assert_eq "$(json .stdout.tail)" € "tail"
assert_eq "$(json .stdout.bytes)" 12 "bytes"
assert_eq "$(json .stdout.omitted_bytes)" 6 "omitted bytes"
assert_eq "$stdout" €€€€ "what was passed on"
