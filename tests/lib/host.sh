# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# What kind of host the tests run on

# v2 (one hierarchy with the controllers), hybrid (v2 without them, v1 beside it) or none.
cgroup_mode()
{
	if [ "$(stat -f -c %T /sys/fs/cgroup 2>/dev/null)" = cgroup2fs ]; then
		echo v2
	elif [ -d /sys/fs/cgroup/unified ] && [ -d /sys/fs/cgroup/memory ]; then
		echo hybrid
	else
		echo none
	fi
}
