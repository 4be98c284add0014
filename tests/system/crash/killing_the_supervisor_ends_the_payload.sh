#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# SIGKILL of menace-run ends every process of the payload, with no new start and
# whatever the payload ignores, detaches or stops
# security
# kernel gate

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/docker.sh"
. "$repo/tests/lib/runs.sh"

with_own_leases
need_root
need_cgroups
check_leaks

mkfifo "$tmp/ready"
"$MENACE_RUN" -q -- bash -c '
	trap "" HUP INT TERM QUIT
	(setsid sleep 1001 &)
	(sleep 1002 & kill -STOP $!)
	(while :; do :; done) &
	echo
	sleep 1003' >"$tmp/ready" &
supervisor=$!
read -r <"$tmp/ready"
# One that has ended, and that the host's own init has not waited for yet, is not there.
group_pids()
{
	grep -l -s "$id" /proc/[0-9]*/cgroup | grep -v "/$supervisor/" | sed 's/cgroup$/status/' | xargs -r grep -L -s '^State:.Z'
}
id=$(run_id_of "$supervisor") || fail "no run of process $supervisor"
lease=/run/menace/leases/$id
[ -f "$lease" ] || fail "no lease $lease"
assert_ge "$(group_pids | wc -l)" 5 "processes of the run"

kill -KILL "$supervisor"
wait "$supervisor" 2>/dev/null
none_left()
{
	[ -z "$(group_pids)" ]
}
wait_until 30 none_left || fail "still there: $(group_pids)"

# The group and the lease are left for the next start.
[ -f "$lease" ] || fail "the lease is gone before a sweep"
run -v -- true
assert_status 0
assert_contains "$stderr" "removed what 1 crashed runs had left"
assert_absent "$lease"
