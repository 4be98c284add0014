#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# /work, /tmp, /dev/shm and a tmpfs of the caller's share one budget
# security

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/limits.sh"

need_limits

run_helper --disk 1M --tmpfs /scratch -- \
	eat-disk bytes 8388608 /work/a /tmp/b /dev/shm/c /scratch/d
assert_ended 1 disk_limit disk
assert_eq "$stdout" "wrote 1048576: ENOSPC"
assert_eq "$(json .usage.disk.used_bytes)" 1048576 "used"
