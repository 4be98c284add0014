#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# The sandbox's init has signals and orphans to see to.  A payload that makes them as
# fast as it can holds up neither the end of its main process nor init's own end, which
# is how a tree dies with a supervisor that was killed.

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/limits.sh"
. "$repo/tests/lib/runs.sh"

need_limits
for what in signals orphans; do
	run_helper --timeout "$(scaled 60)" --pids 200 -- flood-init "$what" 3
	assert_status 7
	# On a busy machine init may find no time to reap before there are so many, which is told.
	assert_match "$(json .reason)" '^(exited|pids_limit)$' "reason"
done

gone()
{
	! grep -q -s "/menace/$id\$" /proc/[0-9]*/cgroup
}
for what in signals orphans; do
	start -q -t "$(scaled 60)" --pids 200 -- /helpers/flood-init "$what" 3 stay
	wait_for_line flooding
	id=$(run_id_of "$supervisor") || fail "no run of process $supervisor"
	gone && fail "no process in the group of run $id"
	kill -KILL "$supervisor"
	wait "$supervisor" 2>/dev/null
	wait_until 20 gone || fail "a flood of $what outlives the supervisor"
done
