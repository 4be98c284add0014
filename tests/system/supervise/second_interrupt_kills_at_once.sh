#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Ctrl-C twice does not wait for the grace time

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/limits.sh"

need_limits
check_leaks

# The grace time is longer than a test waits.
has_ended()
{
	! lives "$supervisor"
}
start -s limits.grace_ms=60s -t 2h -- sh -c 'trap "echo caught" INT; echo ready; while :; do sleep 0.05; done'
wait_for_line ready
kill -INT "$supervisor"
wait_for_line caught
lives "$supervisor" || fail "ended at the first"
kill -INT "$supervisor"
wait_until 30 has_ended || fail "the grace time is waited for"
finish
assert_status 130
assert_reason killed_by_user
assert_eq "$(json .exit.signal_name)" KILL "signal"
