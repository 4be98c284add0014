#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# --tmpfs DEST:SIZE is a place with a limit of its own
# security

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/limits.sh"

need_limits

run_helper --tmpfs /scratch:1M -- eat-disk bytes 2097152 /scratch/file
assert_ended 1 disk_limit disk
assert_eq "$stdout" "wrote 1048576: ENOSPC"
# Just under is no limit hit; to the last byte it is full, which alone is no failure.
run_helper --tmpfs /scratch:1M -- eat-disk bytes 1044480 /scratch/file
assert_at_ease
run_helper --tmpfs /scratch:1M -- eat-disk bytes 1048576 /scratch/file
assert_ended 0 exited disk

# Any of several, with a user namespace or without.
for option in --userns --unsafe; do
	run_helper $option --tmpfs /a:1M --tmpfs /b/c:2M --tmpfs /d -- eat-disk bytes 4194304 /b/c/file
	assert_ended 1 disk_limit disk
	assert_eq "$stdout" "wrote 2097152: ENOSPC"
done

# Full of files without a byte in them.
run --tmpfs /scratch:64k -- sh -c 'i=0; while : >/scratch/$i; do i=$((i + 1)); done; exit 3'
assert_status 2
assert_reason disk_limit
assert_eq "$(limits_hit)" disk "limits hit"

# What is deleted again leaves no trace.
run --tmpfs /scratch:1M -- sh -c 'head -c 2M /dev/zero >/scratch/f 2>/dev/null; rm /scratch/f; exit 4'
assert_ended 4 exited
