#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# 16 runs at once: each has its own events and counters and nothing of another

. "$(dirname "$0")/../../lib/system.sh"
. "$repo/tests/lib/telemetry.sh"

need_telemetry
runs=${MENACE_TELEMETRY_RUNS:-$((MENACE_SLOWDOWN > 1 ? 32 : 160))}
for ((i = 0; i < runs; i++)); do
	printf '{"schema": "menace.spec/1", "name": "%d", "program": ["sh", "-c", "%s"]}\n' "$i" \
		"for i in \$(seq $((i % 16))); do /bin/true mark-$i; done"
done >"$tmp/specs"
run_plain "$MENACE_RUN" -q -t "$(scaled 60)" --batch -j 16 <"$tmp/specs"
assert_status 0
assert_eq "$(wc -l <"$tmp/stdout")" "$runs" results
bad=$(jq -c '(.name | tonumber) as $i | ($i % 16) as $n
	| ([.telemetry.events[] | select(.type == "exec" and .object == "/bin/true") | .detail.argv[1]]) as $marks
	| select(.telemetry.counters.execs != $n + 2 or .telemetry.counters.forks != $n + 3
		or .telemetry.counters.exits != $n + 3 or .telemetry.complete != true
		or ($marks | length) != $n or ($marks | any(. != "mark-\($i)")))
	| [.name, .reason, .telemetry.counters, .telemetry.books]' "$tmp/stdout")
assert_eq "$bad" "" "runs with wrong telemetry"
assert_eq "$("$loader" entries)" "" "groups still observed"
