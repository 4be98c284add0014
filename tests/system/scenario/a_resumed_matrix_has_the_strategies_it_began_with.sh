#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# A matrix that is killed and resumed makes up its values by the strategy and the plugins that it began with,
# whatever the environment and the files of the plugins are by then, and says where they differ
#

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/store.sh"
. "$repo/tests/lib/gate.sh"
need_root
need_cgroups
use_gate

cat >"$tmp/flow.json" <<'END'
{"schema": "menace.flow/1", "name": "asks", "combined": false, "stubs": {"word": {"type": "str"}},
 "steps": [{"name": "take", "program": ["sh", "/gate/pass"], "stdin": "{{stub:word}}"}]}
END
# plugin FILE WORD: it says the word.
plugin()
{
	printf '#!/bin/sh\necho "{\\"stubs\\": [\\"%s\\"]}"\n' "$2" >"$1"
}
plugin "$tmp/env" of-the-environment
plugin "$tmp/preset" of-the-preset
preset="{\"SCENARIO_NAME\": \"own\", \"SANDBOX_STUB_STRATEGY\": \"plugin:$tmp/preset\"}"
close_gate 1
SANDBOX_STUB_STRATEGY=plugin:$tmp/env SANDBOX_EC_NULLS=0 \
	"$MENACE" scenario run "$tmp/flow.json" --scenarios normal -p "$preset" -r 2 -s 5 >/dev/null 2>&1 &
pid=$!
wait_until 50 is_waiting 2 || fail "no second cell"
kill_all "$pid"
open_gate
id=$("$MENACE" query 'SELECT matrix FROM matrices WHERE ended_us IS NULL' --json | gojq -r .matrix)

plugin "$tmp/env" another
rm "$tmp/preset"
SANDBOX_STUB_STRATEGY=random menace scenario run --resume "$id" --json
assert_status 0
cp "$tmp/stdout" "$result"
assert_eq "$(json '[.cells[] | select(.scenario == "own" and .arm == "on") | .per_copy[0].inputs[0].value] | unique' | gojq -c .)" '["of-the-preset"]'
assert_eq "$(json '[.cells[] | select(.scenario != "own" or .arm == "off") | .per_copy[0].inputs[0].value] | unique' | gojq -c .)" '["of-the-environment"]'
assert_eq "$(json '.cells | length')" 8
assert_contains "$stderr" "SANDBOX_STUB_STRATEGY is another now, and was set when this began: what it was counts"
assert_contains "$stderr" "SANDBOX_EC_NULLS is not set now, and was set when this began"
