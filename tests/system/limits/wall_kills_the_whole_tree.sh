#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Children, daemons and what they started go too
# security
# kernel gate

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/limits.sh"

need_limits
check_leaks

run -t 1 -- bash -c '(setsid sleep 1001 &); sleep 1002 & trap "" TERM; sleep 1003 | sleep 1004'
assert_ended 124 wall_timeout wall
assert_ran_for 1000
