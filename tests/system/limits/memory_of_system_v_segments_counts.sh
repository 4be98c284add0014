#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# System V shared memory is charged, and goes with the sandbox
# security

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/limits.sh"

need_limits
check_leaks

run_helper -m 32M -- eat-memory sysv 67108864
assert_oom
before=$(wc -l </proc/sysvipc/shm)
run_helper -m 32M -- eat-memory sysv 8388608
assert_at_ease
assert_eq "$(wc -l </proc/sysvipc/shm)" "$before" "segments of the host"
