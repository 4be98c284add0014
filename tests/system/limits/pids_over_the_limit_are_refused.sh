#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# One more fork fails with EAGAIN; the program's own status stays, the reason names the limit
# security
# kernel gate

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/limits.sh"

need_limits
check_leaks

run_helper --pids 10 -- fork-bomb processes 10
assert_ended 1 pids_limit pids
assert_eq "$stdout" "made 9: EAGAIN"
assert_ge "$(json .usage.pids.limit_hits)" 1 "hits"
assert_eq "$(json .leftover_killed)" 9 "leftovers"
