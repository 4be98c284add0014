#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Under 10 ms, negative, more than a year
# security

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/limits.sh"

need_limits

assert_refuses --idle-timeout 0 9ms -1 400d soon ""
run --idle-timeout unlimited -- sleep 0.3
assert_at_ease
assert_eq "$(json .limits.idle_ms)" unlimited "limit"
