#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Eight first starts at once load one set, and each is observed from its first process

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/telemetry.sh"

need_telemetry
for ((round = 0; round < 2; round++)); do
	"$loader" purge >"$tmp/said" || fail "purge: $(cat "$tmp/said")"
	pids=()
	for i in 1 2 3 4 5 6 7 8; do
		"$MENACE_RUN" -q -o "$tmp/$i.json" -- sh -c '/bin/true; /bin/true; exit' &
		pids+=($!)
	done
	for i in 1 2 3 4 5 6 7 8; do
		wait "${pids[i - 1]}" || fail "run $i: $?"
		assert_eq "$(gojq -c '.telemetry | [.level, .counters.forks, .counters.execs, .complete]' "$tmp/$i.json")" \
			'["default",4,3,true]' "run $i"
	done
	assert_eq "$(list_sets | wc -l)" 1 sets
	assert_eq "$(find "$MENACE_BPF_DIR" -name 'new-*')" "" "half-made sets"
done
