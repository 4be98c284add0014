#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Init is of the payload's user, which may lower the priority and the limits of what is
# its own: not init's, without which the end of the main process would be told late

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/limits.sh"

need_limits
for level in 1 2 3 4; do
	run_helper --level "$level" --set sandbox.unsafe=true --timeout "$(scaled 60)" --pids 500 -- starve-init 4
	assert_eq "$stdout" "" "what worked at level $level"
	assert_ended 7 exited
done
run_helper --timeout "$(scaled 60)" --pids 500 -- starve-init 50
assert_ended 7 exited
