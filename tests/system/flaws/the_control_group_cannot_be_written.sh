#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# CVE-2022-0492 (release_agent), CVE-2023-25809 (/sys/fs/cgroup writable inside): no file
# of any hierarchy is there, and the group's place on the host is not told
# security
# kernel

. "${0%/*}/../../lib/system.sh"

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

# Nor by a mount that the caller asks for, as long as no right is given with it.
for place in /sys/fs/cgroup /sys/fs/cgroup/memory /sys/fs/cgroup/unified; do
	[ -d "$place" ] || continue
	for option in --ro --rw; do
		run $option "$place:/cg" -- sh -c 'for f in cgroup.procs tasks notify_on_release; do
			echo 1 >"/cg/$f"; done; mkdir /cg/menace-attack; ls -d /cg/menace-attack'
		assert_ne "$status" 0 "status with $option $place"
		assert_eq "$stdout" "" "output with $option $place"
		assert_absent "$place/menace-attack"
	done
done
run -- sh -c 'echo -1000 >/proc/self/oom_score_adj; cat /proc/self/oom_score_adj'
assert_eq "$stdout" 0 "oom_score_adj"
