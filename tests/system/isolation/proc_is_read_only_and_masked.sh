#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# The payload has a /proc of its own, read-only by its mount and not by a look that
# root would pass, without the parts that tell about the host or act on it
# security

. "${0%/*}/../../lib/system.sh"

masked='acpi asound cmdline fs interrupts kallsyms kcore key-users keys kmsg latency_stats locks modules
	sched_debug scsi sysrq-trigger timer_list timer_stats'
check()
{
	local name

	run "$@" -- cat /proc/self/mountinfo
	assert_eq "$(awk '$5 == "/proc" { print $6; for (i = 7; i <= NF; i++) if ($i == "-") print $(i + 1) }' \
		"$tmp/stdout" | sed 's/,relatime//')" $'ro,nosuid,nodev,noexec\nproc' "mount of /proc with '$*'"
	assert_eq "$(awk '$5 ~ "^/proc/" && $6 !~ "^ro,nosuid,nodev,noexec"' "$tmp/stdout")" "" \
		"mounts below it that are not read-only"
	cp "$tmp/stdout" "$tmp/mounts"
	# shellcheck disable=SC2086 # names
	run "$@" -- sh -c 'for name; do
			cat "/proc/$name"; ls -A "/proc/$name/"; echo x >"/proc/$name" && echo "written $name"
		done 2>/dev/null; exit 0' sh $masked
	assert_eq "$status $stdout" "0 " "contents of what is masked, with '$*'"
	for name in $masked; do
		# Masked by a mount, or not there for anyone without rights on the host.
		[ -e "/proc/$name" ] && ! grep -q " /proc/$name ro," "$tmp/mounts" || continue
		run "$@" -- sh -c "ls -A /proc/$name >&2; cat /proc/$name"
		assert_match "$stderr" "denied|Read-only|No such" "answer of /proc/$name"
	done
	run "$@" -- sh -c 'for f in sys/kernel/core_pattern sys/kernel/modprobe sys/vm/drop_caches sys/kernel/hostname \
		sys/net/ipv4/ip_forward self/oom_score_adj self/attr/exec self/comm self/coredump_filter \
		self/uid_map self/gid_map self/setgroups self/timerslack_ns sys/kernel/ns_last_pid \
		sys/user/max_user_namespaces; do echo 1 >/proc/$f && echo "written $f"; done; exit 0'
	assert_eq "$stdout" "" "files written with '$*'"
}
check
check --userns
check --userns --uid 0
check --level 2

# Only our own processes are in it.
run -- sh -c 'sleep 100 & until grep -q -s sleep /proc/$!/comm; do :; done; cat /proc/[0-9]*/comm'
assert_eq "$(sort <<<"$stdout" | tr '\n' ' ')" "sh sleep " "processes shown"
