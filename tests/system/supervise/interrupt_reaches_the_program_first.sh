#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Ctrl-C once: a program that handles it has ended by itself, with its own status

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/limits.sh"

need_limits

start -t 60 -s limits.grace_ms=60s -- sh -c 'trap "echo cleaning; exit 7" INT; echo ready; while :; do sleep 0.05; done'
wait_for_line ready
kill -INT "$supervisor"
finish
assert_status 7
assert_reason exited
assert_eq "$stdout" $'ready\ncleaning'
