#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# adapt gives a program that ran out of memory more of it, from a file, a batch and the store, and
# does not take away what a run used

. "${0%/*}/../../lib/system.sh"
. "${0%/*}/../../lib/limits.sh"
. "${0%/*}/../../lib/store.sh"
. "${0%/*}/../../lib/preset.sh"

need_limits

echo '{"MEMORY_LIMIT": "64Mi", "PRESET_SEED": 7}' >"$tmp/preset.json"
run_helper -t "$(scaled 30)" --preset "$tmp/preset.json" -- eat-memory anon 83886080
assert_reason oom
cp "$result" "$tmp/oom.json"
id=$(json .run_id)

preset adapt "$tmp/preset.json" --result "$tmp/oom.json" -o "$tmp/more.json"
assert_status 0
assert_contains "$stderr" 'MEMORY_LIMIT: "64Mi" becomes "128Mi" (out of memory (up): oom 1 is over 0)'
assert_eq "$(jq -c . "$tmp/more.json")" '{"MEMORY_LIMIT":"128Mi"}'
preset adapt "$tmp/preset.json" --run "$id" --json
assert_eq "$(jq -c '.presets[0].changes[0] | [.variable, .old, .new, .why]' <<<"$stdout")" \
	'["MEMORY_LIMIT","64Mi","128Mi","out of memory (up): oom 1 is over 0"]'
run_helper -t "$(scaled 30)" --preset "$tmp/more.json" -- eat-memory anon 83886080
assert_reason exited
assert_status 0
jq -c . "$tmp/oom.json" "$result" >"$tmp/batch.json"

# It used more than 64 MiB: there is no step down from 128 MiB to where it would die.
echo '{"security_score": 60, "synergy_flexibility": 1}' >"$tmp/metrics.json"
echo '{"MEMORY_LIMIT": "256Mi"}' >"$tmp/wide.json"
echo '{"MEMORY_LIMIT": "150Mi"}' >"$tmp/narrow.json"
preset adapt "$tmp/wide.json" -r "$result" --metrics "$tmp/metrics.json"
assert_eq "$(jq -c . <<<"$stdout")" '{"MEMORY_LIMIT":"128Mi"}'
preset adapt "$tmp/wide.json" -r "$result" --history "$tmp/metrics.json" --json
assert_eq "$(jq .results <<<"$stdout")" 1
sed -i 's/"peak_bytes":[ 0-9]*/"peak_bytes": 140000000/' "$tmp/batch.json"
preset adapt "$tmp/wide.json" -r "$tmp/batch.json" --metrics "$tmp/metrics.json" --json
assert_eq "$(jq -c .results <<<"$stdout")" 2
preset adapt "$tmp/narrow.json" -r "$tmp/batch.json" --metrics "$tmp/metrics.json"
assert_contains "$stderr" "MEMORY_LIMIT"

# With nothing to go by it is as it was.
preset adapt "$tmp/preset.json"
assert_eq "$(jq -c . <<<"$stdout")" "$(jq -c . "$tmp/preset.json")"
assert_contains "$stderr" "there are no results and no metrics, so nothing changes"

# A list stays a list, a rule that nobody knows is told.
echo '{"security_score": 90, "synergy_ro": 1}' >"$tmp/typo.json"
preset adapt '[{"THREAT_INTENSITY": 30}, {"THREAT_INTENSITY": 90}]' -m "$tmp/typo.json"
assert_eq "$(jq -c . <<<"$stdout")" '[{"THREAT_INTENSITY":50},{"THREAT_INTENSITY":90}]'
assert_contains "$stderr" 'no rule looks at metric "synergy_ro"; did you mean "synergy_roi"?'
assert_contains "$stderr" "[1]: THREAT_INTENSITY stays as it is: no larger value"

preset adapt '{"CPU_LIMIT": 65}'
assert_refused 'text: CPU_LIMIT: "65" is out of range'
preset adapt '{}' -m "$tmp/none.json"
assert_refused "$tmp/none.json"
echo '{"roi": "x"}' >"$tmp/bad.json"
preset adapt '{}' -m "$tmp/bad.json"
assert_refused "$tmp/bad.json: roi: a string where a number is expected"
preset adapt '{}' --run zzz
assert_ne "$status" 0
assert_contains "$stderr" 'there is no run "zzz"'
