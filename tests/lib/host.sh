# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# What kind of host the tests run on

# Sets host_cgroups: v2 (one hierarchy with the controllers), hybrid (v2 without them, v1 beside it) or none.
if [ -e /sys/fs/cgroup/cgroup.controllers ]; then
	host_cgroups=v2
elif [ -d /sys/fs/cgroup/unified ] && [ -d /sys/fs/cgroup/memory ]; then
	host_cgroups=hybrid
else
	host_cgroups=none
fi

# Where the v2 hierarchy is.
cgroup_v2_root()
{
	[ "$host_cgroups" = v2 ] && echo /sys/fs/cgroup || echo /sys/fs/cgroup/unified
}
