#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Every process forks as fast as it can and is deaf to signals; the host does not notice
# serial

. "$(dirname "$0")/../../lib/system.sh"
. "$repo/tests/lib/limits.sh"

need_limits
check_leaks

run_helper --pids 128 -t 2 -- fork-bomb forever
assert_ended 124 wall_timeout "wall pids"
assert_soon 2000
assert_ge "$(json .usage.pids.limit_hits)" 1 "hits"
