#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Parents and children that stay behind
# serial

. "$(dirname "$0")/../../lib/system.sh"
. "$repo/tests/lib/limits.sh"

need_limits
check_leaks

run_helper -t 60 -- hold-pipe orphans 3
assert_ended 0 exited
assert_eq "$(json .leftover_killed)" 6 "leftovers"
assert_soon 0
