#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Parents and children that stay behind

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/limits.sh"

need_limits
check_leaks

run_helper -t 60 -- hold-pipe orphans 3
assert_ended 0 exited
assert_eq "$(json .leftover_killed)" 6 "leftovers"

# Of a program that is killed with all others nobody counts them,
run -t 100ms -- sleep 1000
assert_eq "$(json '"\(.reason) \(.leftover_killed)"')" "wall_timeout null" "leftovers of a program that is killed"

# and without a control group nobody can; they are killed all the same.
need_unprivileged_user
XDG_RUNTIME_DIR='' run_plain "${as_user[@]}" "$MENACE_RUN" -q -o - --best-effort cgroup -- sh -c '
	for i in 1 2 3; do sleep 1000 & done'
assert_status 0
assert_eq "$(jq -r '"\(.reason) \(.leftover_killed) \(.receipt.degraded[0].item)"' <<<"$stdout")" "exited null cgroup" \
	"leftovers that nobody counts"
