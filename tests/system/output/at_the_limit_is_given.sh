#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# To the last byte

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/limits.sh"

need_limits

run_helper --output-limit 1000 -- eat-output 1000
assert_at_ease
assert_eq "$(stat -c %s "$tmp/stdout")" 1000 "bytes passed on"
assert_eq "$(json .stdout.bytes)" 1000 "bytes counted"
assert_eq "$(json .limits.output_bytes)" 1000 "limit"
