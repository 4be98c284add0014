#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Of a workflow that takes a stub the profiles hostile_input, schema_drift and flaky_upstream come to a
# verdict, by values that the seed decides; of one that takes none they say so
#

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/store.sh"
need_root
need_system_program python3

cat >"$tmp/take.py" <<'END'
import json, sys
order = json.load(sys.stdin)
print(order["user_id"] + 1, order["email"].index("@"))
END
cat >"$tmp/flow.json" <<'END'
{"schema": "menace.flow/1", "name": "shop", "combined": false,
 "stubs": {"order": {"templates": [{"user_id": 7, "email": "a@b.c"}]}},
 "steps": [{"name": "take", "snippet": {"path": "take.py"}, "stdin": {"stub": "order"}},
	{"name": "rest", "program": ["true"]}]}
END
profiles=hostile_input,schema_drift,flaky_upstream
try()
{
	menace scenario run "$tmp/flow.json" --scenarios "$profiles" -j 2 --json "$@"
	cp "$tmp/stdout" "$result"
}
try -s 3 --levels low,high
assert_status 1
assert_eq "$(json '[.scenarios[] | .name + ":" + .level + " " + .verdict] | join(", ")')" \
	"hostile_input:low failed, hostile_input:high failed, schema_drift:low failed, schema_drift:high failed, flaky_upstream:low failed, flaky_upstream:high failed"
assert_eq "$(gojq -c '[.cells[] | select(.arm == "on") | .in_force.stubs | del(.corrupted)] | unique' "$result")" \
	'[{"fired":1,"opportunities":1,"strategy":"flaky_upstream"},{"fired":1,"opportunities":1,"strategy":"hostile"},{"fired":1,"opportunities":1,"strategy":"legacy_schema"}]'
assert_eq "$(json '[.cells[] | select(.arm == "on") | .why[]] | length')" 0
# The other arm has what is ordinary, and passes.
assert_eq "$(gojq -c '[.cells[] | select(.arm == "off") | [.verdict, .per_copy[0].inputs[0].strategy, .per_copy[0].inputs[0].class]] | unique' "$result")" \
	'[["passed","templates",null]]'
assert_eq "$(gojq -r '.coverage.covered | join(" ")' "$result")" "hostile_input schema_drift flaky_upstream"

# Of the profile hostile_input every second value is corrupted, and none of these is of the class that it was.
assert_eq "$(gojq -c '[.cells[] | select(.arm == "on") | .per_copy[0].inputs[0] as $i | select($i.corrupted != null) |
	.scenario, .in_force.stubs.corrupted == (if $i.corrupted > 0 then 1 else 0 end),
	($i.class == "corrupted") == ($i.corrupted > 0), ($i.was == null) == ($i.uncorrupted != null)] | unique' "$result")" \
	'[true,"hostile_input"]'

# The same seed, the same inputs; another one, others.
inputs()
{
	gojq -c '[.cells[] | select(.level == "low") | [.scenario, .arm, .per_copy[].inputs]]' "$result"
}
first=$(inputs)
profiles=schema_drift
second=$(gojq -c 'map(select(.[0] == "schema_drift"))' <<<"$first")
try -s 3 --levels low
assert_eq "$(inputs)" "$second"
try -s 4 --levels low
[ "$(inputs)" != "$second" ] || fail "another seed made the same"

# As scenarios, with a program that takes none, and one that does in its words.
menace scenario run --scenarios "hostile_input,schema_drift,flaky_upstream" --json -- true
assert_status 7
assert_eq "$(gojq -r '.cells[] | select(.arm == "on") | .verdict + ": " + (.why | join("; "))' <<<"$stdout")" \
	"inconclusive: hostile_input had no opportunity; no stub is taken, so none was hostile (menace-flow(5), STUBS)
inconclusive: schema_drift had no opportunity; no stub is taken, so none was legacy_schema (menace-flow(5), STUBS)
inconclusive: flaky_upstream had no opportunity; no stub is taken, so none was flaky_upstream (menace-flow(5), STUBS); no request was answered, so none was late"
menace scenario run --scenarios "normal,hostile_input,schema_drift,flaky_upstream" --slo 1h -- echo '{{stub:word}}'
assert_status 0
assert_contains "$stdout" "status: robust"
assert_not_contains "$stdout" "WORST"

# Where a stub that is made to do harm is standard input, hostile_input puts no other in its place and is told to be
# left out; in the place of an ordinary one it does.
both()
{
	menace scenario run "$tmp/flow.json" --scenarios normal -p "{\"SCENARIO_NAME\": \"both\",
		\"FAILURE_MODES\": \"hostile_input\", \"SANDBOX_STUB_STRATEGY\": \"$1\"}" --seed 3 --json
	gojq -c '.cells[] | select(.arm == "on" and .scenario == "both") |
		[.verdict, .in_force.hostile_input.fired, .in_force.left_out, .why]' <<<"$stdout"
}
assert_eq "$(both smart)" '["failed",1,null,[]]'
assert_eq "$(both hostile)" '["failed",null,["hostile_input of step \"take\": its standard input is a stub made up as hostile"],[]]'
assert_eq "$(both misuse)" '["inconclusive",null,["hostile_input of step \"take\": its standard input is a stub made up as misuse"],["hostile_input was left out: standard input is a stub made up as misuse"]]'

# What cannot be made up is told of that cell alone.
menace scenario run "$tmp/flow.json" --scenarios normal -p '{"SCENARIO_NAME": "past", "SANDBOX_STUB_STRATEGY": "failures"}' \
	--store "$tmp/kept/empty.db" --json
assert_status 125
cp "$tmp/stdout" "$result"
assert_eq "$(json '[.scenarios[] | .verdict] | join(" ")')" "passed error"
assert_eq "$(json '.scenarios[1].why[0]')" \
	'stub "order": the strategy failures: the store has no value of it with which a step failed'
menace scenario run "$tmp/flow.json" -p '{"SANDBOX_STUB_STRATEGY": "hostle"}'
assert_refused 'SANDBOX_STUB_STRATEGY: unknown strategy of stubs "hostle"; did you mean "hostile"?'
assert_eq "$(find "$store.flows" "$tmp/kept/empty.db.flows" -mindepth 2 -name "*.stage")" "" "left of the runs"
