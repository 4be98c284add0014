#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# 16 runs at once: each has its own events and counters and nothing of another, in its
# result and in the store, which is whole; MENACE_TELEMETRY_RUNS sets their number

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/telemetry.sh"

need_telemetry
runs=${MENACE_TELEMETRY_RUNS:-48}
for ((i = 0; i < runs; i++)); do
	printf '{"schema": "menace.spec/1", "name": "%d", "program": ["sh", "-c", "%s"]}\n' "$i" \
		"for i in \$(seq $((i % 16))); do /bin/true mark-$i; done"
done >"$tmp/specs"
run_plain "$MENACE_RUN" -q -t "$(scaled 60)" --store "$tmp/menace.db" --batch -j 16 <"$tmp/specs"
assert_status 0
assert_eq "$(wc -l <"$tmp/stdout")" "$runs" results
bad=$(gojq -c '(.name | tonumber) as $i | ($i % 16) as $n
	| ([.telemetry.events[] | select(.type == "exec" and .object == "/bin/true") | .detail.argv[1]]) as $marks
	| select(.telemetry.counters.execs != $n + 2 or .telemetry.counters.forks != $n + 3
		or .telemetry.counters.exits != $n + 3 or .telemetry.complete != true
		or ($marks | length) != $n or ($marks | any(. != "mark-\($i)")))
	| [.name, .reason, .telemetry.counters, .telemetry.books]' "$tmp/stdout")
assert_eq "$bad" "" "runs with wrong telemetry"
assert_eq "$("$loader" entries)" "" "groups still observed"

"$MENACE" ingest --store "$tmp/menace.db" >/dev/null || fail "menace ingest: $?"
verified=$("$MENACE" audit verify --store "$tmp/menace.db") || fail "menace audit verify: $? $verified"
assert_contains "$verified" "$runs rows of the chain"
apart=$("$MENACE" query --store "$tmp/menace.db" --json "
	WITH marks AS (SELECT run_id, json_extract(detail, '\$.argv[1]') AS mark FROM events
		WHERE type = 'exec' AND object = '/bin/true')
	SELECT count(*) AS marks, coalesce(sum(mark = 'mark-' || name), 0) AS own
	FROM marks JOIN runs USING (run_id)")
marks=0
for ((i = 0; i < runs; i++)); do marks=$((marks + i % 16)); done
assert_eq "$(gojq -c '[.marks, .own]' <<<"$apart")" "[$marks,$marks]" "execs in the store, and those of their own run"
