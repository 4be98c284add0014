#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# A program that has no handler dies of the signal, as it would without us

. "$(dirname "$0")/../../lib/system.sh"
. "$repo/tests/lib/limits.sh"

need_limits

for name in INT TERM HUP QUIT; do
	start -- sh -c 'echo ready; exec sleep 1001'
	wait_for_line ready
	kill "-$name" "$supervisor"
	finish
	assert_status $((128 + $(kill -l "$name")))
	assert_reason signaled
	assert_eq "$(json .exit.signal_name)" "$name" "signal"
done
