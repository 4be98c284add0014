#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Three are open at the start
# security

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/limits.sh"

need_limits

run_helper --nofile 64 -- eat-limits descriptors 61
assert_at_ease
assert_eq "$stdout" "opened 61"
assert_eq "$(json .limits.nofile)" 64 "limit"
run_helper --nofile 64 -- eat-limits descriptors 62
assert_status 1
assert_eq "$stdout" "opened 61: EMFILE"
