#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# A stopped tree is idle
# security
# kernel

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/limits.sh"

need_limits
check_leaks

run_helper --idle-timeout 500ms -t 60 -- hold-pipe stopped
assert_ended 124 idle_timeout idle
assert_ran_for 500
