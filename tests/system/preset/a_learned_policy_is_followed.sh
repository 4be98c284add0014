#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# A learned policy is checked, brought in and out, and followed by adapt and generate where it knows the
# state: with the reason, and never against what a run was measured to want
# sanitizers

. "${0%/*}/../../lib/system.sh"
. "${0%/*}/../../lib/preset.sh"

features='["roi","synergy_roi","synergy_efficiency","synergy_resilience","cpu_usage","memory_usage","threat_intensity"]'
policy()
{
	printf '{"schema": "menace.preset-policy/1", "features": %s, "states": %s}\n' "$features" "$1" >"$tmp/policy.json"
}
echo '{"roi": [1, 2, 3], "cpu_usage": [0.5, 0.4], "security_score": 90}' >"$tmp/metrics.json"
base='{"CPU_LIMIT": "1", "MEMORY_LIMIT": "512Mi", "THREAT_INTENSITY": 30}'

# The greatest value counts; the rules over metrics, which would raise the threat, do not.
policy '{"1,0,0,0,-1,0,0": {"cpu+": 0.25, "memory+": -1}, "0,0,0,0,0,0,0": {"none": 0}}'
preset adapt "$base" -m "$tmp/metrics.json" --policy "$tmp/policy.json" --explain
assert_status 0
assert_eq "$(jq -c . <<<"$stdout")" '{"CPU_LIMIT":"2","MEMORY_LIMIT":"512Mi","THREAT_INTENSITY":30}'
assert_contains "$stderr" 'CPU_LIMIT: "1" becomes "2" (policy (up): in the state 1,0,0,0,-1,0,0 it gives cpu+ 0.25, the most of 2)'
assert_contains "$stderr" 'policy: cpu+ is worth 0.25, taken'
assert_contains "$stderr" 'policy: memory+ is worth -1'
preset adapt "$base" -m "$tmp/metrics.json"
assert_eq "$(jq -c .THREAT_INTENSITY <<<"$stdout")" 50 "without a policy"
preset adapt "$base" -m "$tmp/metrics.json" --policy "$tmp/policy.json" --json
assert_eq "$(jq -c '.presets[0].policy | [.state, .action, .values["cpu+"]]' <<<"$stdout")" '["1,0,0,0,-1,0,0","cpu+",0.25]'

# What nobody has learned is not guessed: the rules do it.
policy '{"0,0,0,0,0,0,0": {"cpu+": 1}}'
preset adapt "$base" -m "$tmp/metrics.json" --policy "$tmp/policy.json" --explain
assert_contains "$stderr" "it knows nothing of the state 1,0,0,0,-1,0,0"
assert_eq "$(jq -c '[.CPU_LIMIT, .THREAT_INTENSITY]' <<<"$stdout")" '["0.5",50]'
echo '{"roi": [1, 2]}' >"$tmp/few.json"
policy '{"1,0,0,0,0,0,0": {"cpu+": 1}}'
preset adapt "$base" -m "$tmp/few.json" --policy "$tmp/policy.json" --explain
assert_contains "$stderr" "not asked: 2 values of roi, and it takes 3"

# A run that was killed for want of memory outweighs what was learned.
policy '{"0,0,0,0,0,0,0": {"memory-": 9}}'
for _ in 1 2 3; do
	echo '{"schema": "menace.result/1", "reason": "oom", "limits": {"memory_max_bytes": 536870912}, "limits_hit": ["memory"], "exit": {"status": 137}}'
done >"$tmp/oom.json"
preset adapt "$base" -r "$tmp/oom.json" --policy "$tmp/policy.json"
assert_eq "$(jq -c .MEMORY_LIMIT <<<"$stdout")" '"1024Mi"'

# Presets that are drawn follow it, too.
echo '{"roi": [1, 2, 3, 4, 5]}' >"$tmp/five.json"
policy '{"1,0,0,0,0,0,0": {"bandwidth+": 1}}'
preset generate -n 3 -s 4 -m "$tmp/five.json" --policy "$tmp/policy.json" --explain
assert_status 0
assert_contains "$stderr" "it gives bandwidth+ 1, the most of 1"
assert_contains "$stderr" "BANDWIDTH_LIMIT"
preset generate --policy "$tmp/policy.json"
assert_refused "--policy needs --metrics"

# The variable names it where the option does not; without metrics nothing is drawn by it.
export SANDBOX_PRESET_RL_PATH=$tmp/policy.json
preset generate -n 1 -s 4 -m "$tmp/five.json" --explain
assert_status 0
assert_contains "$stderr" "it gives bandwidth+ 1, the most of 1"
preset adapt "$base" -m "$tmp/five.json" --explain
assert_contains "$stderr" "it gives bandwidth+ 1, the most of 1"
preset generate -n 1 -s 4
assert_status 0
echo '{"roi": [1, 2, 3]}' >"$tmp/three.json"
printf '{"schema": "menace.preset-policy/1", "features": %s, "states": {"1,0,0,0,0,0,0": {"cpu+": 2}}}' "$features" >"$tmp/other.json"
preset adapt "$base" -m "$tmp/three.json" --policy "$tmp/other.json" --explain
assert_contains "$stderr" "it gives cpu+ 2, the most of 1"
SANDBOX_PRESET_RL_PATH=$tmp/none.json preset adapt "$base" -m "$tmp/five.json"
assert_refused "SANDBOX_PRESET_RL_PATH: " "none.json"
SANDBOX_PRESET_RL_PATH='' preset adapt "$base" -m "$tmp/five.json"
assert_status 0
unset SANDBOX_PRESET_RL_PATH
preset adapt "$base" --explain
assert_refused "--explain needs --policy"

# In and out: a table of the older format comes back as it was; a file is whole or not there.
echo '{"1,0,0,0,-1,0,0": {"0": 0.25, "6": -3.5}}' >"$tmp/older.json"
preset import-policy "$tmp/older.json" -o "$tmp/new.json"
assert_status 0
assert_eq "$(jq -c '.schema, .features, .states' "$tmp/new.json")" "\"menace.preset-policy/1\"
$features
{\"1,0,0,0,-1,0,0\":{\"cpu+\":0.25,\"none\":-3.5}}"
preset export-policy "$tmp/new.json"
assert_eq "$(jq -c . <<<"$stdout")" "$(jq -c . "$tmp/older.json")"
preset show-policy "$tmp/new.json"
assert_contains "$stdout" "1,0,0,0,-1,0,0"
assert_contains "$stdout" "cpu+"
policy '{"1,0,0,0,0,0,0": {"bandwidth+": 1}}'
preset export-policy "$tmp/policy.json"
assert_contains "$stderr" "1 values are left out"
assert_eq "$(jq -c . <<<"$stdout")" '{}'

# Anything that is not known is refused, with what was meant, and nothing is written.
refused()
{
	preset import-policy "$tmp/policy.json" -o "$tmp/never.json"
	assert_refused "$1"
	[ ! -e "$tmp/never.json" ] || fail "it is written"
}
policy '{"1,0,0,0,0,0,0": {"cpu++": 1}}'
refused 'no action "cpu++"; did you mean "cpu+"?'
policy '{"1,0,0,0,0,0": {"cpu+": 1}}'
refused 'no state "1,0,0,0,0,0"; accepted: 7 of -1, 0 and 1 between commas'
policy '{"1,0,0,0,0,0,2": {"cpu+": 1}}'
refused 'no state "1,0,0,0,0,0,2"'
policy '{"1,0,0,0,0,0,0": {}}'
refused 'no action has a value'
policy '{"1,0,0,0,0,0,0": {"cpu+": 2e9}}'
refused 'out of range; accepted: -1e9 to 1e9'
policy '{"1,0,0,0,0,0,0": {"cpu+": "1"}}'
refused 'a string where a number is expected'
echo '{"schema": "menace.preset-policy/1", "features": [], "state": {}}' >"$tmp/policy.json"
refused 'did you mean "states"?'
echo '{"schema": "menace.preset-policy/2", "features": [], "states": {}}' >"$tmp/policy.json"
refused 'accepted: "menace.preset-policy/1"'
echo '{"schema": "menace.preset-policy/1", "features": ["roi"], "states": {}}' >"$tmp/policy.json"
refused '1 features; accepted: these 7'
head -c 1100000 /dev/zero | tr '\0' ' ' >"$tmp/policy.json"
preset import-policy "$tmp/policy.json"
assert_status 2
