#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# A shell that goes on after its child was killed does not hide it
# security
# kernel

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/limits.sh"

need_limits
check_leaks

run --ro "$helpers:/helpers" -m 32M -- \
	sh -c '/helpers/eat-memory anon 134217728; exit 0'
assert_oom
