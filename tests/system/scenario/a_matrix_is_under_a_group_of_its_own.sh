#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# The cap of all cells is a control group above their sandboxes: it is told as the kernel shows it, what it ends
# is no failure of a cell, a killed matrix leaves none, and where there can be none it says so
#
# security
# kernel

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/store.sh"
need_root
need_cgroups
need_system_program tail
check_leaks

# on EXPRESSION: of the first cell with the conditions.
on()
{
	json "[.cells[] | select(.arm == \"on\")][0] | $1"
}
# groups_of GROUP: how many hierarchies have it.
groups_of()
{
	find /sys/fs/cgroup -type d -name "${1##*/}" 2>/dev/null | wc -l
}

# In force, as read back, and every sandbox is below it.
menace scenario run --scenarios normal -j 2 -r 2 --max-memory 1200Mi --max-pids 2000 --max-cpus 2 --json -- sleep 0.2
assert_status 0
cp "$tmp/stdout" "$result"
assert_eq "$(json '.cap | .kept_by, .why, .limits.memory_max_bytes.value, .limits.pids_max.value')" 'kernel
null
1258291200
2000'
assert_eq "$(json '.cap.limits | .cpu_quota_us.value / .cpu_period_us.value')" 2 "processors"
assert_eq "$(json '.cap | .by_accounting, .runs, .runs_outside, .ooms' | tr '\n' ' ')" '{} 4 0 0 '
assert_match "$(json .cap.group)" '/menace/[0-9a-z]{26}\.matrix$'
assert_eq "$(groups_of "$(json .cap.group)")" 0 "groups at the end"

# More than the cap allows and less than its own limit: nobody knows whether it would have passed.
eat='head -c 150M /dev/zero | tail -c 140M | wc -c'
menace scenario run -p '{"SCENARIO_NAME": "eats", "MEMORY_LIMIT": "512Mi"}' --max-memory 64Mi --json -- sh -c "$eat"
assert_status 7
cp "$tmp/stdout" "$result"
assert_eq "$(on .verdict)" inconclusive
assert_eq "$(on '.why[0]')" 'memory: the cap of all cells, 67108864 bytes, was reached, and the kernel ended a process of the sandbox, which was under its own limit'
assert_eq "$(json '.counts.failed')" 0
assert_eq "$(json '.cap.ooms >= 1')" true
# Its own limit is its own failure, under the same cap.
menace scenario run -p '{"SCENARIO_NAME": "eats", "MEMORY_LIMIT": "32Mi"}' --max-memory 256Mi --json -- sh -c "$eat"
assert_status 1
cp "$tmp/stdout" "$result"
assert_eq "$(on .verdict)" failed
assert_eq "$(json .cap.ooms)" 0

# The same of processes.
crowd='i=0; while [ $i -lt 60 ]; do sleep 60 & i=$((i + 1)); done; kill $(jobs -p)'
menace scenario run -p '{"SCENARIO_NAME": "forks", "MAX_THREADS": 200}' --max-pids 30 --json -- sh -c "$crowd"
assert_status 7
cp "$tmp/stdout" "$result"
assert_eq "$(on .verdict)" inconclusive
assert_eq "$(on '.why[0]')" 'processes: the cap of all cells, 30, was reached, and the sandbox may have 200'
menace scenario run -p '{"SCENARIO_NAME": "forks", "MAX_THREADS": 20}' --max-pids 300 --json -- sh -c "$crowd"
assert_status 1

# One that wants more processors than the cap is let in alone, and so may have them.
menace scenario run -p '{"SCENARIO_NAME": "wide", "CPU_LIMIT": "2", "FAILURE_MODES": "cpu"}' --max-cpus 1 --json -- true
cp "$tmp/stdout" "$result"
assert_eq "$(json .counts.error)" 0
assert_eq "$(json '.cap.limits | .cpu_quota_us.value / .cpu_period_us.value')" 2 "processors"
menace scenario run -p '{"SCENARIO_NAME": "all", "FAILURE_MODES": "cpu"}' --max-cpus 1 --json -- true
cp "$tmp/stdout" "$result"
assert_eq "$(json .counts.error)" 0

# Where a group above has less processors than the cap, that one holds, and the rest is as ever.
cpu=/sys/fs/cgroup/cpu
if [ "$host_cgroups" = hybrid ] && [ -e "$cpu/cpu.cfs_quota_us" ] && mkdir "$cpu/menace-test-$$"; then
	at_exit rmdir "$cpu/menace-test-$$"
	echo 50000 >"$cpu/menace-test-$$/cpu.cfs_quota_us"
	run_plain bash -c "echo \$\$ >$cpu/menace-test-$$/cgroup.procs && exec $MENACE scenario run --scenarios normal --json -- true"
	assert_status 0
	cp "$tmp/stdout" "$result"
	assert_eq "$(json '.cap | .kept_by, (.limits | has("cpu_quota_us")), .runs_outside' | tr '\n' ' ')" 'kernel false 0 '
	assert_contains "$(json .cap.by_accounting.cpu)" "a group above allows less CPU than is asked"
fi

# Killed with all that makes sandboxes: the next start removes the group.
"$MENACE" scenario run --scenarios normal -r 2 --json -- sleep 60 >/dev/null 2>&1 &
pid=$!
is_running()
{
	runner=$(pgrep -P "$pid" -f -- --batch) && child=$(pgrep -P "$runner" | head -n 1) &&
		group=$(grep -o -m 1 '/menace/[0-9a-z]*\.matrix/menace/' "/proc/$child/cgroup" 2>/dev/null)
}
wait_until 40 is_running || fail "no sandbox below a group of a matrix"
group=${group%/menace/}
assert_ge "$(groups_of "$group")" 1 "groups before a kill"
kill -KILL "$pid" "$runner"
wait "$pid" 2>/dev/null
is_over()
{
	! kill -0 "$runner" 2>/dev/null
}
wait_until 40 is_over || fail "the runner lives"
run -q -- true
assert_status 0
has_no_group()
{
	[ "$(groups_of "$group")" = 0 ]
}
# Whose start somebody else's comes before leaves it to that one.
wait_until 20 has_no_group || fail "groups after a kill: $(groups_of "$group")"

# By hand.
run --cgroup-parent nobody.made.it -- true
assert_status 2
assert_contains "$stderr" "--cgroup-parent: there is no control group"
run --cgroup-parent ../x -- true
assert_status 2

# Who may make no groups is told that sums are all there is.
need_unprivileged_user
chmod 755 "$tmp"
run_plain "${as_user[@]}" env MENACE_STORE=none XDG_RUNTIME_DIR= "$MENACE" scenario run --scenarios normal --json -- true
cp "$tmp/stdout" "$result"
assert_eq "$(json '.cap | .kept_by, .group, (.limits | length)' | tr '\n' ' ')" 'accounting null 0 '
assert_match "$(json .cap.why)" 'is not writable for uid 65534'
