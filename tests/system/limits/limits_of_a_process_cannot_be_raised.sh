#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# The hard limits are down too, and there is no right to lift them
# security

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/limits.sh"

need_limits

for what in nofile core; do
	run_helper -- eat-limits raise "$what"
	assert_ended 1 exited
	assert_eq "$stdout" "failed: EPERM"
done
run_helper -s limits.fsize_bytes=1M -- eat-limits raise fsize
assert_eq "$stdout" "failed: EPERM"
run_helper -s limits.stack_bytes=1M -- eat-limits raise stack
assert_eq "$stdout" "failed: EPERM"
