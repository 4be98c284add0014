#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# limits.grace_ms=0

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/limits.sh"

need_limits
check_leaks

start -s limits.grace_ms=0 -t 60 -- /helpers/hold-pipe deaf
wait_for_line ready
kill -INT "$supervisor"
finish
assert_status 130
assert_reason killed_by_user
assert_eq "$(json .exit.signal_name)" KILL "signal"
