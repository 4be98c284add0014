#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Shared anonymous memory is charged once, and against the limit
# security

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/limits.sh"

need_limits

run_helper -m 32M -- eat-memory shared 67108864
assert_oom
run_helper -m 32M -- eat-memory shared 16777216
assert_at_ease
