#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# With 1 a program runs that starts nothing
# security

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/limits.sh"

need_limits

run --pids 1 -- true
assert_at_ease
run --pids 1 -- sh -c 'true; /usr/bin/true; echo not reached'
assert_status 2
assert_reason pids_limit
assert_not_contains "$stdout" reached
