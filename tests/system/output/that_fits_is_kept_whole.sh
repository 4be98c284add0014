#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Head and tail together hold it: nothing is truncated

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/limits.sh"

need_limits

run -s output.head_bytes=10 -s output.tail_bytes=10 -- printf %s 01234567890123456789
assert_eq "$(json .stdout.text)" 01234567890123456789 "text"
assert_eq "$(json .stdout.truncated)" false "truncated"
assert_eq "$(json .stdout.omitted_bytes)" 0 "omitted bytes"
run -s output.head_bytes=10 -s output.tail_bytes=10 -- printf %s 012345678901234567890
assert_eq "$(json .stdout.head)" 0123456789 "head"
assert_eq "$(json .stdout.tail)" 1234567890 "tail"
assert_eq "$(json .stdout.omitted_bytes)" 1 "omitted bytes"
