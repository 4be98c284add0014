#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# A matrix that is killed and resumed makes up its values by the strategy and the plugins that it began with,
# whatever the environment and the files of the plugins are by then, and says where they differ
#

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/store.sh"
need_root
need_cgroups

cat >"$tmp/flow.json" <<'END'
{"schema": "menace.flow/1", "name": "asks", "combined": false, "stubs": {"word": {"type": "str"}},
 "steps": [{"name": "take", "program": ["sleep", "0.2"], "stdin": "{{stub:word}}"}]}
END
# plugin FILE WORD: it says the word.
plugin()
{
	printf '#!/bin/sh\necho "{\\"stubs\\": [\\"%s\\"]}"\n' "$2" >"$1"
}
plugin "$tmp/env" of-the-environment
plugin "$tmp/preset" of-the-preset
preset="{\"SCENARIO_NAME\": \"own\", \"SANDBOX_STUB_STRATEGY\": \"plugin:$tmp/preset\"}"
has_cells()
{
	[ "$("$MENACE" query 'SELECT count(*) AS n FROM cells' --json 2>/dev/null | jq .n)" -ge 1 ] 2>/dev/null
}
# kill_midway: sets $id; fails if it was over before it was killed.
kill_midway()
{
	new_store
	SANDBOX_STUB_STRATEGY=plugin:$tmp/env SANDBOX_EC_NULLS=0 \
		"$MENACE" scenario run "$tmp/flow.json" --scenarios normal -p "$preset" -r 4 -s 5 >/dev/null 2>&1 &
	pid=$!
	wait_until 40 has_cells || fail "no cells"
	kill -KILL "$pid" 2>/dev/null
	wait "$pid" 2>/dev/null
	id=$("$MENACE" query 'SELECT matrix FROM matrices WHERE ended_us IS NULL' --json | jq -r .matrix)
	[ -n "$id" ]
}
patiently kill_midway || fail "it was over before it was killed"

plugin "$tmp/env" another
rm "$tmp/preset"
SANDBOX_STUB_STRATEGY=random menace scenario run --resume "$id" --json
assert_status 0
cp "$tmp/stdout" "$result"
assert_eq "$(json '[.cells[] | select(.scenario == "own" and .arm == "on") | .per_copy[0].inputs[0].value] | unique' | jq -c .)" '["of-the-preset"]'
assert_eq "$(json '[.cells[] | select(.scenario != "own" or .arm == "off") | .per_copy[0].inputs[0].value] | unique' | jq -c .)" '["of-the-environment"]'
assert_eq "$(json '.cells | length')" 16
assert_contains "$stderr" "SANDBOX_STUB_STRATEGY is another now, and was set when this began: what it was counts"
assert_contains "$stderr" "SANDBOX_EC_NULLS is not set now, and was set when this began"
