#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# The limit is the payload's alone: one main process and nine children are ten
# security

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/limits.sh"

need_limits
check_leaks

run_helper --pids 10 -- fork-bomb processes 9
assert_ended 0 exited
assert_eq "$stdout" "made 9"
assert_eq "$(json .leftover_killed)" 9 "leftovers"
assert_eq "$(json .usage.pids.limit_hits)" 0 "hits"
assert_eq "$(json .receipt.cgroup.limits.pids_max.value)" 10 "limit in the kernel"
assert_eq "$(json .limits.pids_max)" 10 "limit"
