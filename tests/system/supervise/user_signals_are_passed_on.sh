#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# SIGUSR1 and SIGUSR2 mean whatever the program says, and no end

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/limits.sh"

need_limits

start -t 60 -- sh -c 'trap "echo one" USR1; trap "echo two; exit 0" USR2; echo ready
	while :; do sleep 0.05; done'
wait_for_line ready
kill -USR1 "$supervisor"
wait_for_line one
kill -USR2 "$supervisor"
finish
assert_ended 0 exited
assert_eq "$stdout" $'ready\none\ntwo'
