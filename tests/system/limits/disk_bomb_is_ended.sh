#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# A program that fills every place for ever meets no space, then its time
# security

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/limits.sh"

need_limits
check_leaks

for limit in "${time_limits[@]}"; do
	run --ro "$helpers:/helpers" --disk 4M -s limits.disk_inodes=1000 -t "${limit}ms" -- bash -c '
		for ((i = 0; ; i++)); do
			/helpers/eat-disk bytes 1000000000 /tmp/$i /work/$i /dev/shm/$i
			/helpers/eat-disk inodes 1000000 /tmp /work /dev/shm
		done >/dev/null 2>&1'
	[ "$(limits_hit)" != "wall disk" ] || break
done
assert_ended 124 wall_timeout "wall disk"
assert_le "$(json .usage.disk.used_bytes)" 4194304 "used"
assert_ran_for "$limit"
