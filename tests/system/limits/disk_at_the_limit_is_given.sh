#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# To the last byte
# security

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/limits.sh"

need_limits

run_helper --disk 1M -- eat-disk bytes 1048576 /work/file
assert_status 0
assert_reason exited
assert_eq "$stdout" "wrote 1048576"
assert_eq "$(json .usage.disk.used_bytes)" 1048576 "used"
assert_eq "$(json .limits.disk_bytes)" 1048576 "limit"
