#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Whatever a strategy makes of a secret (a member or a stub or a place that is called so, the content of a
# variable), the store has a marker of it: how it was made and how long it is
#
# security

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/store.sh"
need_root

# The steps take their inputs and say nothing of them.
mkdir "$tmp/w"
cat >"$tmp/w/flow.json" <<'END'
{"schema": "menace.flow/1", "name": "takes", "combined": false, "env": {"REGION": "in-a-variable"},
 "stubs": {"order": {"templates": [{"api_key": "hunter2-hunter2", "email": "a@b.c", "id": 7}]},
	"leak": {"templates": [["see in-a-variable", 1]]}, "word": {"templates": ["hunter2-of-a-place"]},
	"password": {"templates": ["hunter2-by-name"]}, "keyboard": {"templates": ["qwerty"]}},
 "test_data": {"keyboard.json": {"stub": "keyboard"}},
 "steps": [{"name": "take", "program": ["true"], "stdin": {"stub": "order"},
	"files": {"leak.json": {"stub": "leak"}, "password.json": {"stub": "password"}},
	"env": {"SESSION_TOKEN": "{{stub:word}}"}}, {"name": "fail", "program": ["false"], "stdin": {"stub": "order"}}]}
END
cat >"$tmp/w/plugin" <<'END'
#!/usr/bin/python3
import json, sys
print(json.dumps({"stubs": [json.dumps(json.load(sys.stdin)["stubs"])]}))
END
kept()
{
	"$MENACE" query "$1" --json
}
# What of the inputs is anywhere but in the workflow itself.
all_kept()
{
	kept "SELECT value || coalesce(payload, '') || coalesce(class, '') AS t FROM inputs
		UNION ALL SELECT json_extract(detail, '\$.inputs') AS t FROM flow_steps
		UNION ALL SELECT json_extract(detail, '\$.per_copy') AS t FROM cells"
}
assert_no_secret()
{
	local kept_text

	kept_text=$(all_kept)
	assert_contains "$kept_text" '"stub\":\"order\"'
	for secret in hunter2 hunter in-a-variable hunter3 aHVudGVy; do
		assert_not_contains "$kept_text" "$secret"
	done
}
for strategy in templates smart signature random hostile misuse legacy_schema flaky_upstream; do
	# Those of misuse are wrong in several ways, one of them by its order.
	seeds="1 2"
	[ "$strategy" != misuse ] || seeds="1 2 3 4 5 6"
	for seed in $seeds; do
		menace flow run "$tmp/w/flow.json" --no-combined --stub-strategy "$strategy" --seed "$seed"
		assert_status 1
	done
	assert_no_secret
done
if [ -x /usr/bin/python3 ]; then
	menace flow run "$tmp/w/flow.json" --stub-strategy "plugin:$tmp/w/plugin" --seed 1
	assert_status 1
	assert_no_secret
fi
# Corrupted bytes are no less a secret, and are nobody's ordinary value.
for seed in 1 2 3; do
	SANDBOX_ENV_PRESETS='{"SANDBOX_STUB_STRATEGY": "templates", "PAYLOAD_INDICATOR": "corrupted_bytes"}' \
		menace flow run "$tmp/w/flow.json" --seed "$seed"
done
assert_no_secret
menace scenario run "$tmp/w/flow.json" --scenarios user_misuse,schema_drift,flaky_upstream,hostile_input --levels high -r 1 -s 4
assert_no_secret

# What there is of them.
assert_eq "$(kept "SELECT DISTINCT value ->> 'secret' AS secret, json_type(value, '\$.size') AS size, class FROM inputs
	WHERE raw = 2 AND strategy = 'misuse' AND stub = 'order' ORDER BY 1" | gojq -c '[.secret, .size, .class]' | sort -u)" \
	'[1,"integer","wrong-order"]'
assert_eq "$(kept "SELECT DISTINCT value FROM inputs WHERE strategy = 'flaky_upstream' AND class = 'partial' AND stub = 'order'")" \
	'{"value":"{\"class\":\"partial\",\"secret\":true,\"size\":26,\"strategy\":\"flaky_upstream\"}"}'
assert_eq "$(kept "SELECT DISTINCT value FROM inputs WHERE strategy = 'templates' AND stub = 'password' AND class IS NULL")" \
	'{"value":"{\"class\":null,\"secret\":true,\"size\":15,\"strategy\":\"templates\"}"}'
assert_eq "$(kept "SELECT DISTINCT value FROM inputs WHERE strategy = 'templates' AND stub = 'order' AND class IS NULL")" \
	'{"value":"{\"email\":\"a@b.c\",\"id\":7}"}'
assert_eq "$(kept "SELECT count(*) AS n FROM inputs WHERE raw < 2 AND stub IN ('password', 'word', 'leak') AND class IS NULL
	AND strategy = 'templates'")" '{"n":0}'
# A keyboard is no key.
assert_eq "$(kept "SELECT DISTINCT value FROM inputs WHERE strategy = 'templates' AND stub = 'keyboard' AND class IS NULL")" \
	'{"value":"\"qwerty\""}'
# A record of what all steps have is in the row of the first one alone, and counts for each.
assert_eq "$(kept "SELECT detail ->> '\$.inputs[0].value' AS value, detail ->> '\$.inputs[0].again' AS again FROM flow_steps
	JOIN flow_runs USING (flow_run) WHERE detail ->> '\$.inputs[0].strategy' = 'templates' AND n < 2
	ORDER BY started_us, n LIMIT 2" | gojq -c '[.value, .again]')" '["qwerty",null]
[null,1]'
assert_eq "$(kept "SELECT seen, failed FROM inputs WHERE stub = 'keyboard' AND value = '\"qwerty\"'" | gojq -c '[.seen > 4, .seen == .failed * 2]')" \
	'[true,true]'

# No marker is a value, and no corrupted value an ordinary one.
menace flow run "$tmp/w/flow.json" --seed 1 --stub-strategy history
assert_status 2
assert_contains "$stderr" 'the store has no value of it yet'
cat >"$tmp/w/one.json" <<'END'
{"schema": "menace.flow/1", "name": "takes", "combined": false, "stubs": {"keyboard": {"templates": ["qwerty"]}},
 "steps": [{"name": "take", "program": ["cat"], "stdin": "{{stub:keyboard}}"}]}
END
edit "DELETE FROM inputs WHERE class IS NULL AND strategy <> 'templates'"
assert_ge "$(kept "SELECT count(*) AS n FROM inputs WHERE stub = 'keyboard' AND class = 'corrupted'" | gojq .n)" 1
for seed in 1 2 3 4; do
	menace flow run "$tmp/w/one.json" --seed "$seed" --stub-strategy history --json
	assert_eq "$(gojq -r '.steps[0].stdout' <<<"$stdout")" qwerty "seed $seed"
done
