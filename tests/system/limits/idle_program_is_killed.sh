#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# No output and no work for as long as allowed
# security

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/limits.sh"

need_limits

run --idle-timeout 500ms -t 60 -- sleep 1001
assert_ended 124 idle_timeout idle
assert_ran_for 500
assert_contains "$stderr" ": idle_timeout after "
