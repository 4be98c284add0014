#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# --tmpfs DEST:SIZE is a place with a limit of its own

. "$(dirname "$0")/../../lib/system.sh"
. "$repo/tests/lib/limits.sh"

need_limits

run_helper --tmpfs /scratch:1M -- eat-disk bytes 2097152 /scratch/file
assert_status 1
assert_eq "$stdout" "wrote 1048576: ENOSPC"
run_helper --tmpfs /scratch:1M -- eat-disk bytes 1048576 /scratch/file
assert_at_ease
