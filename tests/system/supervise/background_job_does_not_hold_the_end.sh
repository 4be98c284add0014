#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# The plain case: a shell's background job with our streams

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/limits.sh"

need_limits
check_leaks

run -t 60 -- sh -c 'sleep 1001 & echo done; exit 3'
assert_ended 3 exited
assert_eq "$stdout" "done"
assert_eq "$(json .leftover_killed)" 1 "leftovers"
