#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Under its limit a stack grows; over it the program dies of SIGSEGV
# security

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/limits.sh"

need_limits

run_helper -s limits.stack_bytes=1M -- eat-limits stack 900000
assert_at_ease
assert_eq "$stdout" "used 900000"
run_helper -s limits.stack_bytes=1M -- eat-limits stack 1200000
assert_status 139
assert_reason signaled
assert_eq "$(json .exit.signal_name)" SEGV "signal"
