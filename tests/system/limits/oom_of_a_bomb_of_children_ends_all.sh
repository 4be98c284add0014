#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Every child that dies is replaced by its parent at once, for ever
# security

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/limits.sh"

need_limits
check_leaks

run --ro "$helpers:/helpers" -m 24M -t 60 -- \
	sh -c 'while :; do /helpers/eat-memory anon 33554432 4 & /helpers/eat-memory memfd 67108864; done'
assert_oom
