#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Every process forks as fast as it can and is deaf to signals; the host does not notice
# security
# kernel

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/limits.sh"

need_limits
check_leaks

for limit in "${time_limits[@]}"; do
	run_helper --pids 128 -t "${limit}ms" -- fork-bomb forever
	[ "$(limits_hit)" != "wall pids" ] || break
done
assert_ended 124 wall_timeout "wall pids"
assert_ran_for "$limit"
assert_ge "$(json .usage.pids.limit_hits)" 1 "hits"
