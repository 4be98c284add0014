#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# A sparse file of a terabyte is fine, to reserve it is not
# security

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/limits.sh"

need_limits

run_helper --disk 1M -- eat-disk hole 1099511627776 /tmp/hole
assert_at_ease
run_helper --disk 1M -- eat-disk allocate 2097152 /tmp/file
assert_status 1
assert_eq "$stdout" "made 0: ENOSPC"
run_helper --disk 1M -- eat-disk allocate 1048576 /tmp/file
assert_status 0
