#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# By default, and said

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/limits.sh"

need_limits

run_helper --output-limit unlimited -- eat-output 4194304
assert_at_ease
assert_eq "$(json .stdout.bytes)" 4194304 "bytes"
run -- true
assert_eq "$(json .limits.output_bytes)" unlimited "default"
