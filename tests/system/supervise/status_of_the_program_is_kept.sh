#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Every status a program can end with; the reason tells them from ours

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/limits.sh"

need_limits

for code in 0 1 2 124 125 126 127 137 255; do
	run -- sh -c "exit $code"
	assert_status "$code"
	assert_reason exited
	assert_eq "$(json .exit.code)" "$code" "code"
done
