#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# After an OOM kill the rest of the tree does not go on half dead
# security
# kernel gate

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/limits.sh"

need_limits
check_leaks

run --ro "$helpers:/helpers" -m 32M -t 60 -- \
	sh -c 'sleep 1001 & /helpers/eat-memory anon 134217728; sleep 1002'
assert_oom
