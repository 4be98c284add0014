#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Daemons forked twice, in sessions of their own, deaf, holding our pipes: the run ends with
# its main process, they are counted and gone
# kernel gate

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/limits.sh"

need_limits
check_leaks

run_helper -t 60 -- hold-pipe daemons 3
assert_ended 0 exited
assert_eq "$stdout" "daemons 3"
assert_eq "$(json .leftover_killed)" 3 "leftovers"
