#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Folders are no way around
# security

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/limits.sh"

need_limits

run_helper -s limits.disk_inodes=64 -- eat-disk folders 65 /tmp /dev/shm
assert_ended 1 disk_limit disk
assert_eq "$stdout" "made 64: ENOSPC"
