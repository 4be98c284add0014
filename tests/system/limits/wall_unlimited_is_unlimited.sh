#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# "unlimited" instead of the default of 30 seconds
# security

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/limits.sh"

need_limits

run -t unlimited -- sleep 0.2
assert_at_ease
assert_eq "$(json .limits.wall_ms)" unlimited "limit"
run -- true
assert_eq "$(json .limits.wall_ms)" 30000 "default"
