#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# SIGTERM to menace-run likewise, within the grace time

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/limits.sh"

need_limits

start -t 60 -s limits.grace_ms=60s -- sh -c 'trap "echo cleaning; exit 9" TERM; echo ready; while :; do sleep 0.05; done'
wait_for_line ready
kill -TERM "$supervisor"
finish
assert_status 9
assert_reason exited
assert_eq "$stdout" $'ready\ncleaning'
