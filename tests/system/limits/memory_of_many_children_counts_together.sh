#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Eight processes that each stay under the limit break it together, and all go
# security
# kernel

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/limits.sh"

need_limits
check_leaks

run_helper -m 32M -- eat-memory anon 8388608 8
assert_oom
assert_not_contains "$stdout" children: "standard output"
