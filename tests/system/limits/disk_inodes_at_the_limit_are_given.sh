#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Files, folders and links, in all places together
# security
# kernel

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/limits.sh"

need_limits

run_helper -s limits.disk_inodes=64 -- eat-disk inodes 64 /tmp /work /dev/shm
assert_status 0
assert_eq "$stdout" "made 64"
run_helper -s limits.disk_inodes=64 -- eat-disk inodes 65 /tmp /work /dev/shm
assert_ended 1 disk_limit disk
assert_eq "$stdout" "made 64: ENOSPC"
