#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# CPU time below the limit is no reason for anything
# security

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/limits.sh"

need_limits

run_helper --cpu-time "$(scaled 2)" -- eat-cpu 200
assert_at_ease
assert_ge "$(json .usage.cpu.usage_us)" 200000 "CPU time"
