#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# 3 are the standard streams and no more
# security

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/limits.sh"

need_limits

run_helper --nofile 3 -- eat-limits descriptors 1
assert_ended 1 exited
assert_eq "$stdout" "opened 0: EMFILE"
assert_refuses --nofile 2 0 -1 1048577 unlimited many ""
