#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# The write fails with ENOSPC; the program's own status stays and the reason names the limit
# security
# kernel gate

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/limits.sh"

need_limits

run_helper --disk 1M -- eat-disk bytes 1048577 /work/file
assert_ended 1 disk_limit disk
assert_eq "$stdout" "wrote 1048576: ENOSPC"
