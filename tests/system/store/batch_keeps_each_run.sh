#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Each run of a batch is kept with its place; a refused line is no run
#
# sanitizers

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/store.sh"

need_root

{
	for i in $(seq 0 19); do
		printf '{"schema": "menace.spec/1", "name": "n%d", "program": ["sh", "-c", "exit %d"]}\n' "$i" "$i"
	done
	echo '{"schema": "menace.spec/1", "programm": ["true"]}'
} >"$tmp/specs"
run_plain "$MENACE_RUN" --batch -j 8 <"$tmp/specs"
assert_status 2
assert_eq "$(gojq -s 'map(select(.store.state == "queued")) | length' "$tmp/stdout")" 20 "queued"
assert_eq "$(count_runs)" 20 "runs in the store"
menace query "SELECT group_concat(batch_index || ':' || name || ':' || exit_code, ' ') AS all_of_them
	FROM (SELECT * FROM runs ORDER BY batch_index)"
assert_eq "$(tail -n 1 "$tmp/stdout")" "$(for i in $(seq 0 19); do printf '%d:n%d:%d ' "$i" "$i" "$i"; done | sed 's/ $//')"
assert_verified

"$MENACE_RUN" --batch --store none <"$tmp/specs" >"$tmp/results"
assert_eq "$(gojq -s 'map(select(.store.state == "off")) | length' "$tmp/results")" 20 "off"
assert_eq "$(count_runs)" 20 "runs in the store"
