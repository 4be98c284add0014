#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# One byte more ends the run, not as a bare signal 9

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/limits.sh"

need_limits

run_helper --output-limit 1000 -t 60 -- eat-output 1001
# The program has mostly ended by itself before it is killed: the limit was broken all the same.
assert_ended 137 output_limit output
assert_eq "$(json .stdout.bytes)" 1001 "bytes counted"
assert_contains "$stderr" ": output_limit after "

# Nobody outside gets more than that, not even what came in the same moment.
run_helper --output-limit 1000 -t 60 -- eat-output 100000
assert_ended 137 output_limit output
"$helpers/eat-output" 1000 | cmp - "$tmp/stdout" || fail "what was passed on is not the first 1000 bytes"
assert_eq "$(json .stdout.truncated)" true "whether it is whole"
