#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# 0 is a limit too

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/limits.sh"

need_limits

run --output-limit 0 -- true
assert_at_ease
run --output-limit 0 -- sh -c 'echo; sleep 1001'
assert_ended 137 output_limit output
[ ! -s "$tmp/stdout" ] || fail "something was passed on"
