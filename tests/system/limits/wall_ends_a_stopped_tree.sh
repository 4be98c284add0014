#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# A tree that stopped itself with SIGSTOP is ended like any other
# serial

. "$(dirname "$0")/../../lib/system.sh"
. "$repo/tests/lib/limits.sh"

need_limits
check_leaks

limit=$(scaled 1000)
run_helper -t "${limit}ms" -- hold-pipe stopped
assert_ended 124 wall_timeout wall
assert_eq "$stdout" $'stopping\nstopping'
assert_soon "$limit"
