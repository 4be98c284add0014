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
