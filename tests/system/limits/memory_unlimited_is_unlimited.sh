#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# "unlimited" is no limit in the kernel, and not the default of 512 MiB
# security

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/limits.sh"

need_limits

run_helper -m unlimited -t 60 -- eat-memory anon 629145600
assert_at_ease
assert_eq "$stdout" "ate 629145600"
assert_eq "$(json .limits.memory_max_bytes)" unlimited "limit"
shown=$(json '.receipt.cgroup.limits.memory_max_bytes.value')
[ "$shown" = unlimited ] || [ "$shown" = null ] || fail "the kernel's limit is $shown"
