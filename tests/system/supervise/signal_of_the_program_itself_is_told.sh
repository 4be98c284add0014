#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# 128 + n, with the name

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/limits.sh"

need_limits

for name in KILL SEGV TERM USR1; do
	run -- sh -c "kill -$name \$\$"
	assert_status $((128 + $(kill -l "$name")))
	assert_reason signaled
	assert_eq "$(json .exit.signal_name)" "$name" "signal"
	assert_eq "$(json .exit.code)" null "code"
done
