#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# CVE-2022-0492 (release_agent), CVE-2023-25809 (/sys/fs/cgroup writable inside): no file
# of any hierarchy is there, and the group's place on the host is not told

. "$(dirname "$0")/../../lib/system.sh"

need_root
need_cgroups

look='test -e /sys && echo sys
	grep -E " - (cgroup2?|sysfs|securityfs|debugfs|tracefs|bpf) " /proc/self/mountinfo
	find / -xdev \( -name release_agent -o -name "cgroup.*" -o -name notify_on_release \) \
		-not -path "/usr/*" -not -path "/proc/*" 2>/dev/null
	sed "s/^[^/]*//" /proc/self/cgroup | sort -u'
check()
{
	run "$@" -- sh -c "$look"
	assert_eq "$stdout" "/" "what is seen of control groups with '$*'"
}
check
check --userns
check --userns --uid 0
check --level 2

# Nor does the caller get them in by a mount.
for place in /sys/fs/cgroup /sys/fs/cgroup/memory /sys/fs/cgroup/unified; do
	[ -d "$place" ] || continue
	run --rw "$place:/cg" -- sh -c 'echo 1 >/cg/notify_on_release; echo $$ >/cg/cgroup.procs'
	assert_status 2
	assert_contains "$stderr" "$place"
	run --ro "$place:/cg" -- true
	assert_status 2
done
# In the group there is the payload and no more: the limits are what they were.
run -m 64m --pids 20 -- sh -c 'for f in /proc/self/oom_score_adj /proc/self/oom_adj; do echo -1000 >$f; done; cat /proc/self/oom_score_adj'
assert_eq "$stdout" 0 "oom_score_adj"
