#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# A program that fills every place for ever meets no space, then its time
# serial

. "$(dirname "$0")/../../lib/system.sh"
. "$repo/tests/lib/limits.sh"

need_limits
check_leaks

run --disk 4M -s limits.disk_inodes=1000 -t 2 -- bash -c '
	while :; do
		for d in /tmp /work /dev/shm; do head -c 100000 /dev/zero >"$d/$RANDOM"; done
	done 2>/dev/null'
assert_ended 124 wall_timeout "wall disk"
assert_le "$(json .usage.disk.used_bytes)" 4194304 "used"
assert_soon 2000
