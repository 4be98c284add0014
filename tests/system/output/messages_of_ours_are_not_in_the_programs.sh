#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# What we say goes to standard error of the caller and not into what is kept

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/limits.sh"

need_limits

for limit in "${time_limits[@]}"; do
	run -t "${limit}ms" -- sh -c 'echo mine; sleep 1001'
	[ "$stdout" != mine ] || break
done
assert_eq "$stdout" mine
assert_contains "$stderr" "menace-run: run "
assert_eq "$(json .stderr.bytes)" 0 "bytes of the program's standard error"
