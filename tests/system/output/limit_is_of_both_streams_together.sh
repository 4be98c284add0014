#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# 800 bytes on each break a limit of 1500, and keep one of 1600

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/limits.sh"

need_limits

run_helper --output-limit 1600 -- eat-output 131072 1 2
assert_ended 137 output_limit output
run --output-limit 1600 -- sh -c 'printf %0800d 0; printf %0800d 0 >&2'
assert_ended 0 exited
run --output-limit 1599 -- sh -c 'printf %0800d 0; printf %0800d 0 >&2; sleep 1001'
assert_ended 137 output_limit output
assert_eq "$(json '.stdout.bytes + .stderr.bytes')" 1600 "bytes counted"
