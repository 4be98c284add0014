#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# 124, and the reason
# security

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/limits.sh"

need_limits

run -t 1 -- sleep 1001
assert_ended 124 wall_timeout wall
assert_match "$stderr" ': wall_timeout after [0-9]+\.[0-9]'
told=${stderr##*wall_timeout after }
assert_ge "${told%%.*}" 1 "seconds told"
assert_eq "$(json .limits.wall_ms)" 1000 "limit"
assert_ran_for 1000
