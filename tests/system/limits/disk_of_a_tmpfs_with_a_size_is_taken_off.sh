#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# What --tmpfs DEST:SIZE may hold is a part of the disk limit, and all other places share the rest
# security

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/limits.sh"

need_limits

for option in --unsafe --userns; do
	run_helper $option --disk 1M --tmpfs /scratch:256k -- eat-disk bytes 8388608 /work/a /tmp/b /dev/shm/c
	assert_ended 1 disk_limit disk
	assert_eq "$stdout" "wrote 786432: ENOSPC" "the rest"
	run_helper $option --disk 1M --tmpfs /scratch:256k -- eat-disk bytes 8388608 /scratch/file
	assert_eq "$stdout" "wrote 262144: ENOSPC" "the tmpfs"
done

# Two that take all of it leave nothing.
run --disk 1M --tmpfs /a:512k --tmpfs /b:512k -- true
assert_refused "tmpfs /b" "leaves nothing of limits.disk_bytes"
