#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Five hostile runs side by side

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/limits.sh"

need_limits
check_leaks

pids=()
for helper in "fork-bomb forever" "hold-pipe deaf" "hold-pipe stopped" "hold-pipe alarms" \
	"eat-cpu 100000 4"; do
	# shellcheck disable=SC2086 # words
	"$MENACE_RUN" -q -t 1 --pids 64 -m 64M --ro "$helpers:/helpers" -- /helpers/$helper \
		>/dev/null &
	pids+=($!)
done
for pid in "${pids[@]}"; do
	wait "$pid"
	assert_eq $? 124 "exit status"
done
