#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Sleeping is not CPU time
# security

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/limits.sh"

need_limits

run --cpu-time 950ms -- sleep 1
assert_at_ease
assert_ran_for 1000
