#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# An anonymous file is no way around the memory limit
# security
# kernel

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/limits.sh"

need_limits

run_helper -m 32M -- eat-memory memfd 67108864
assert_oom
run_helper -m 32M -- eat-memory memfd 16777216
assert_at_ease
