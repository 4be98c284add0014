#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# What sockets hold is bounded by the memory limit: cgroup v1 counts the packets of TCP
# and UDP apart and only when asked, and no cgroup counts what netlink carries from one
# program to another
# security
# kernel

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/limits.sh"

need_limits
run_helper --net loopback --memory 48M --timeout "$(scaled 20)" -- fill-sockets 60
if [ "$host_cgroups" = v2 ]; then
	# Of the limit itself, so that this much of it may be the end of the program as well.
	[ "$(json .reason)" != exited ] || assert_le "$stdout" $((56 * 1024)) "KiB in sockets"
else
	assert_at_ease
	assert_ge "$stdout" 1024 "KiB in sockets"
	assert_le "$stdout" $((56 * 1024)) "KiB in sockets"
	assert_eq "$(json .receipt.cgroup.limits.sockets_max_bytes.value)" $((48 * 1024 * 1024)) "limit in force"
	run_helper -- fill-sockets 0
	assert_eq "$(json .receipt.cgroup.limits.sockets_max_bytes)" null "limit without a network"
fi

for level in 1 2 3; do
	run_helper --level "$level" --set sandbox.unsafe=true -- fill-sockets netlink
	assert_eq "$stdout" "socket: Protocol not supported" "netlink to itself at level $level"
done
