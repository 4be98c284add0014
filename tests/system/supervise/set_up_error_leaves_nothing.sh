#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# A program that is not there: 127, a result, and no trace

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/limits.sh"

need_limits
check_leaks

run -- /no/such/program
assert_status 127
assert_reason setup_error
assert_contains "$(json .error.message)" /no/such/program
run -- /etc/passwd
assert_status 126
assert_reason setup_error
