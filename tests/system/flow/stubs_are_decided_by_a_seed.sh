#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# The values of a workflow's stubs are decided by a seed and told; the store remembers them and how it went,
# and no variable, no preset and nothing that is named as a secret is
#
# security

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/store.sh"
. "$repo/tests/lib/gate.sh"
need_root
use_gate

mkdir "$tmp/w"
cat >"$tmp/w/flow.json" <<'END'
{"schema": "menace.flow/1", "name": "orders", "combined": false, "env": {"TOKEN": "s3cr3t-of-the-flow", "SHOWN": "<{{stub:word}}>"},
 "test_data": {"word.txt": "{{stub:word}}", "order.json": {"stub": "order"}},
 "stubs": {"word": {"type": "str"}, "order": {"parameters": {"id": "int", "api_key": "str", "email": "str"}},
	"password": {"templates": ["hunter2-hunter2"]}, "leak": {"templates": ["x s3cr3t-of-the-flow x", "harmless"]}},
 "steps": [{"name": "show", "program": ["sh", "-c", "echo $1 $SHOWN; cat word.txt order.json; echo; cat", "sh", "{{stub:word}}"],
	"stdin": "{{stub:leak}} {{stub:password}}"},
	{"name": "fail", "program": ["sh", "-c", "exit $1", "sh", "{{stub:order}}"]}]}
END
flow()
{
	menace flow run "$tmp/w/flow.json" --json "$@"
	cp "$tmp/stdout" "$result"
}
values()
{
	gojq -c '[.steps[] | [.name, .stdout, .inputs]]' "$result"
}
flow --seed 5
assert_status 1
first=$(values)
assert_eq "$(gojq -c '[.steps[0].inputs[] | [.step, .stub, .strategy, .seed, .class]]' "$result")" \
	'[["","word","smart",5,null],["","order","smart",5,null],["show","word","smart",5,null],["show","leak","templates",5,null],["show","password","templates",5,null]]'
word=$(json '.steps[0].inputs[0].value')
own=$(json '.steps[0].inputs[2].value')
assert_match "$(json '.steps[0].stdout')" "^$own <$word>
${word}[{]\"api_key\":\"[a-z]*\",\"email\":\"[a-z]*[0-9]*@example.com\",\"id\":[0-9]*[}]
(x s3cr3t-of-the-flow x|harmless) hunter2-hunter2"
flow --seed 5
assert_eq "$(values)" "$first"
SANDBOX_STUB_SEED=5 flow
assert_eq "$(values)" "$first"
flow --seed 6
[ "$(values)" != "$first" ] || fail "another seed made the same"
MENACE_STORE=none flow --seed 5
assert_eq "$(values)" "$first"

# An option, then a preset, then a variable say how.
SANDBOX_STUB_STRATEGY=signature flow --seed 5
assert_eq "$(json '[.steps[].inputs[].strategy] | unique | join(" ")')" signature
export SANDBOX_ENV_PRESETS='{"SANDBOX_STUB_STRATEGY": "misuse", "MAX_THREADS": 77, "INJECT_EDGE_CASES": true}'
SANDBOX_STUB_STRATEGY=signature flow --seed 5
assert_eq "$(json '[.steps[].inputs[].strategy] | unique | join(" ")')" misuse
assert_eq "$(json '.steps[0].limits.pids_max')" 77
flow --seed 5 --stub-strategy random
assert_eq "$(json '[.steps[].inputs[].strategy] | unique | join(" ")')" random
unset SANDBOX_ENV_PRESETS

# What is remembered.
kept()
{
	"$MENACE" query "$1" --json
}
assert_eq "$(kept 'SELECT DISTINCT stub FROM inputs WHERE raw < 2 ORDER BY stub' | gojq -r .stub | paste -sd ' ')" "leak order word"
assert_eq "$(kept 'SELECT DISTINCT stub FROM inputs WHERE raw = 2 ORDER BY stub' | gojq -r .stub | paste -sd " ")" password
for secret in s3cr3t hunter2 api_key MAX_THREADS '"77"'; do
	assert_eq "$(kept "SELECT count(*) AS n FROM inputs WHERE value || coalesce(payload, '') LIKE '%$secret%'")" \
		'{"n":0}' "$secret is remembered"
done
assert_eq "$(kept "SELECT value, seen, failed FROM inputs WHERE stub = 'order' AND step = 'fail' AND strategy = 'signature'")" \
	'{"value":"{\"email\":\"\",\"id\":0}","seen":3,"failed":2}'
flow --seed 7 --stub-strategy history
assert_status 2
assert_contains "$stderr" 'stub "password": the strategy history: the store has no value of it yet'

# Not without bound.
edit "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 10050)
	INSERT INTO inputs (flow, step, stub, strategy, seed, raw, value, sha256, seen, failed, first_us, last_us)
	SELECT 'x', 'x', 'x', 'smart', 1, 0, '1', 'x' || i, 1, 0, 1, unixepoch() * 1000000 FROM n;
	INSERT INTO inputs (flow, step, stub, strategy, seed, raw, value, sha256, seen, failed, first_us, last_us)
	VALUES ('old', 'x', 'x', 'smart', 1, 0, '1', 'x', 1, 0, 1, (unixepoch() - 91 * 86400) * 1000000)"
flow --seed 8
assert_eq "$(kept 'SELECT count(*) <= 10000 AS few, count(*) > 9000 AS many, sum(flow = '"'old'"') AS old FROM inputs')" \
	'{"few":1,"many":1,"old":0}'

# A run that is resumed has its values.
cat >"$tmp/w/long.json" <<'END'
{"schema": "menace.flow/1", "name": "long", "combined": false, "stubs": {"word": {"type": "str"}},
 "steps": [{"name": "a", "program": ["echo", "{{stub:word}}"]},
	{"name": "b", "program": ["sh", "-c", "echo $1; sh /gate/pass", "sh", "{{stub:word}}"]}]}
END
close_gate 0
"$MENACE" flow run "$tmp/w/long.json" --seed 3 >/dev/null 2>&1 &
pid=$!
wait_until 50 is_waiting 1 || fail "the second step does not begin"
kill_all "$pid"
open_gate
id=$(kept "SELECT flow_run FROM flow_runs WHERE name = 'long'" | gojq -r .flow_run)
menace flow run --resume "$id" --seed 4
assert_refused "--resume: its stubs have their values; leave out --stub-strategy and --seed"
menace flow run --resume "$id" --json
assert_status 0
assert_eq "$(gojq -c '[.steps[] | [.stdout, .inputs[0].value + "\n", .inputs[0].seed]] | map(.[0] == .[1] and .[2] == 3)' <<<"$stdout")" \
	'[true,true]'

# What is nobody's but ours to write, and what is spelled wrong.
printf '{"schema": "menace.flow/1", "inputs": [], "steps": [{"program": ["true"]}]}' >"$tmp/w/made.json"
menace flow run "$tmp/w/made.json"
assert_refused "inputs: this is written when stubs are given values"
SANDBOX_STUB_STRATEGY=hostle menace flow run "$tmp/w/flow.json"
assert_refused 'SANDBOX_STUB_STRATEGY: unknown strategy of stubs "hostle"; did you mean "hostile"?'
SANDBOX_STUB_STRATEGY_ORDER=smart,hostle menace flow run "$tmp/w/flow.json"
assert_refused 'SANDBOX_STUB_STRATEGY_ORDER: unknown strategy of stubs "hostle"'
for presets in 5 '"x"' null true; do
	SANDBOX_ENV_PRESETS=$presets menace flow run "$tmp/w/flow.json"
	assert_refused "SANDBOX_ENV_PRESETS: "
	assert_contains "$stderr" 'where an object is expected'
done
SANDBOX_STUB_SEED=x menace flow run "$tmp/w/flow.json"
assert_refused 'SANDBOX_STUB_SEED: "x" is not'
menace flow run "$tmp/w/flow.json" --stub-strategy synthetic
assert_refused "the strategy synthetic needs a model, and SANDBOX_STUB_MODEL names none"
