#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Where groups are made depends on the group that menace-run is started in; what a
# crashed run left is found by a start in another one
# security
# kernel

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/docker.sh"
. "$repo/tests/lib/runs.sh"

with_own_leases
need_root
need_cgroups
check_leaks

# A group of our own, beside which the sweep is started.
case $host_cgroups in
v2) base=/sys/fs/cgroup$(sed -n 's/^0:://p' /proc/self/cgroup) ;;
hybrid) base=/sys/fs/cgroup/memory$(sed -n 's/^[0-9]*:memory://p' /proc/self/cgroup) ;;
esac
other=$base/menace-test.$$
mkdir "$other" || skip "no right to make a group in $base"
at_exit wait_until 30 remove_groups
# A group stays busy for a moment after its last process.
remove_groups()
{
	find "$other" -depth -type d -exec rmdir {} \; 2>/dev/null
	[ ! -d "$other" ]
}

mkfifo "$tmp/out"
bash -c 'echo $$ >"$0/cgroup.procs" && exec "$@"' "$other" \
	"$MENACE_RUN" -q -- sh -c 'echo ready; sleep 1000 & sleep 1000' >"$tmp/out" &
started=$!
read -r word <"$tmp/out"
assert_eq "$word" ready
id=$(run_id_of "$started") || fail "no run of process $started"
lease=/run/menace/leases/$id
[ -f "$lease" ] || fail "no lease $lease"
# With v2 alone a group that has processes can have no groups with limits: it is elsewhere.
case $host_cgroups in
v2) place=/sys/fs/cgroup ;;
hybrid) place=$other ;;
esac
[ -n "$(find "$place" -type d -name "$id")" ] || fail "no group of the run below $place"
kill -KILL "$started"
wait "$started" 2>/dev/null

run -v -- true
assert_status 0
assert_contains "$stderr" "removed what 1 crashed runs had left"
assert_eq "$(find /sys/fs/cgroup -type d -name "$id")" "" "groups"
assert_absent "$lease"
