#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# More than the default of 512
# security

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/limits.sh"

need_limits
check_leaks

run_helper --pids unlimited -m 1G -t 60 -- fork-bomb processes 600
assert_ended 0 exited
assert_eq "$stdout" "made 600"
assert_eq "$(json .leftover_killed)" 600 "leftovers"
assert_eq "$(json .limits.pids_max)" unlimited "limit"
