#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# A matrix that takes its stubs from the history chooses from what was there when it began, though it is killed,
# the history grows, and it is resumed
#

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/store.sh"
. "$repo/tests/lib/gate.sh"
need_root
use_gate

cat >"$tmp/flow.json" <<'END'
{"schema": "menace.flow/1", "name": "grows", "combined": false, "stubs": {"word": {"type": "str"}},
 "steps": [{"name": "take", "program": ["sh", "/gate/pass"], "stdin": "{{stub:word}}"}]}
END
# new_values SEED...: into the history.
new_values()
{
	local seed

	for seed; do
		"$MENACE" flow run "$tmp/flow.json" --seed "$seed" --stub-strategy random >/dev/null || fail "no run"
	done
}
inputs()
{
	gojq -c '[.cells[] | [.n, .per_copy[0].inputs[0].value]]' "$1"
}
what=("$tmp/flow.json" --scenarios normal -p '{"SCENARIO_NAME": "past", "SANDBOX_STUB_STRATEGY": "history"}' -s 5)
new_values 1 2 3 4
cp -r "$tmp/kept" "$tmp/past"
cp -r "$tmp/kept" "$tmp/before"
"$MENACE" scenario run "${what[@]}" -r 3 --json --store "$tmp/before/menace.db" >"$tmp/whole" || fail "no matrix"
assert_eq "$(gojq '[.cells[] | select(.scenario == "past" and .arm == "on") | .per_copy[0].inputs[0].value] | unique | length > 1' "$tmp/whole")" \
	true "one value alone was chosen"

# kill_after N REPLICATES: a matrix, when N programs have passed and the next one goes on; sets $id.
kill_after()
{
	close_gate "$1"
	"$MENACE" scenario run "${what[@]}" -r "$2" >/dev/null 2>&1 &
	pid=$!
	wait_until 50 is_waiting $(($1 + 1)) || fail "no cell $(($1 + 1))"
	kill_all "$pid"
	open_gate
	id=$("$MENACE" query 'SELECT matrix FROM matrices WHERE ended_us IS NULL' --json | gojq -r .matrix)
}
# With the history as it was.
new_store
cp -r "$tmp/past/." "${store%/*}" || fail "cannot copy the store"
kill_after 2 3
new_values 11 12 13 14 15 16 17 18
menace scenario run --resume "$id" --json
assert_status 0
assert_eq "$(inputs "$tmp/stdout")" "$(inputs "$tmp/whole")"
assert_eq "$(find "$store.flows" -mindepth 1)" "" "left beside the store"

# Where what it began with is gone, it says so.
kill_after 0 1
rm "$store.flows/$id/history.json" || fail "it keeps nothing of the history"
menace scenario run --resume "$id"
assert_status 0
assert_contains "$stderr" "what was known of stubs when this began is not there any more"
