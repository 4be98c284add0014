#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Endless output meets the limit; what was in flight is bounded, and is not passed on

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/limits.sh"

need_limits
check_leaks

run --output-limit 1M -t 60 -- yes
assert_ended 137 output_limit output
bytes=$(json .stdout.bytes)
assert_ge "$bytes" 1048577 "bytes"
assert_le "$bytes" 2097152 "bytes"
assert_eq "$(stat -c %s "$tmp/stdout")" 1048576 "bytes passed on"
assert_eq "$(json .stdout.truncated)" true "truncated"
