#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# A tree that stopped itself with SIGSTOP is ended like any other
# security
# kernel

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/limits.sh"

need_limits
check_leaks

said=$'stopping\nstopping'
for limit in "${time_limits[@]}"; do
	run_helper -t "${limit}ms" -- hold-pipe stopped
	[ "$stdout" != "$said" ] || break
done
assert_ended 124 wall_timeout wall
assert_eq "$stdout" "$said"
assert_ran_for "$limit"
