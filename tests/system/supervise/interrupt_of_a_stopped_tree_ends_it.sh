#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# A stopped program is continued so that it can obey

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/limits.sh"

need_limits
check_leaks

start -t 2h -s limits.grace_ms=60s -- sh -c 'echo ready; kill -STOP $$; sleep 1001'
wait_for_line ready
kill -TERM "$supervisor"
finish
assert_status 143
assert_reason killed_by_user
assert_eq "$(json .exit.signal_name)" TERM "signal: it was not killed for want of an answer"
