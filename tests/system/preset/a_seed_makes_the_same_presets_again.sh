#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# generate draws from the seed it is given, tells the seed it took, and each preset comes again from
# the seed that it records

. "${0%/*}/../../lib/system.sh"
. "${0%/*}/../../lib/preset.sh"

preset generate --seed 20261128
assert_status 0
assert_eq "$stderr" "menace: seed 20261128"
assert_eq "$(jq -c 'map(.PRESET_SEED)' <<<"$stdout")" "[20261128,20261129,20261130]"
first=$stdout

PRESET_SEED=20261128 preset generate --count 3
assert_eq "$stdout" "$first" "presets from PRESET_SEED"
PRESET_SEED=5 preset generate -s 20261128
assert_eq "$stdout" "$first" "presets from an option before PRESET_SEED"
preset --seed 20261128
assert_eq "$stdout" "$first" "presets without a verb"
preset generate -s 20261130 -n 1
assert_eq "$(jq -S . <<<"$stdout")" "$(jq -S '.[2:]' <<<"$first")" "the third alone"

# Without a seed, it is told: here and in the presets.
preset generate --json
seed=$(jq .seed <<<"$stdout")
assert_eq "$stderr" "menace: seed $seed"
assert_eq "$(jq '.presets[0].PRESET_SEED' <<<"$stdout")" "$seed"
presets=$(jq -S .presets <<<"$stdout")
preset generate -s "$seed"
assert_eq "$(jq -S . <<<"$stdout")" "$presets" "presets from the seed that was told"
preset generate --json
assert_ne "$(jq .seed <<<"$stdout")" "$seed" "another fresh seed"

# Profiles, as options and as words; more of them than the count.
preset --profiles high_latency concurrency_spike+flaky_upstream --count 1 --severity low \
	--severity flaky_upstream=high -s 1 -o "$tmp/presets.json"
assert_status 0
assert_eq "$stdout" ""
assert_eq "$(jq -c 'map([.SCENARIO_NAME, .FAILURE_MODES, .UPSTREAM_FAILURES, .THREAD_BURST])' \
	"$tmp/presets.json")" \
	'[["high_latency_api","api_latency",null,null],["concurrency_spike+flaky_upstream",["concurrency_spike","cpu_spike","flaky_upstream"],5,10]]'

# Misuse is drawn only when that is asked for.
preset generate -s 1 -n 100
assert_not_contains "$stdout" user_misuse
SANDBOX_PRESET_MODE=chaos preset generate -s 1 -n 100
assert_contains "$stdout" user_misuse
preset generate -s 1 -n 100 --user-misuse
assert_contains "$stdout" user_misuse
preset generate -s 1 -n 50 --linux-only
assert_not_contains "$stdout" OS_TYPE
preset generate -n 0
assert_eq "$stdout" "[]"

# A step after metrics: told, and from the same seed the same again.
preset generate -s 20261130 -n 1
old=$(jq '.[0].NETWORK_LATENCY_MS' <<<"$stdout")
echo '{"synergy_network_latency": [2, 2], "synergy_roi": 1}' >"$tmp/metrics.json"
preset generate -s 20261130 -n 1 --metrics "$tmp/metrics.json"
assert_status 0
new=$(jq '.[0].NETWORK_LATENCY_MS' <<<"$stdout")
assert_contains "$stderr" "[0]: NETWORK_LATENCY_MS: $old becomes $new (drawn, synergy_network_latency over (up): synergy_network_latency 2 is over 1)"
assert_eq "$(jq '.[0].PRESET_SEED' <<<"$stdout")" 20261130
preset generate -m "$tmp/none.json"
assert_refused "$tmp/none.json"

preset generate --seed 9007199254740992
assert_refused "--seed: 9007199254740992 is out of range; accepted: 0 to 9007199254740991"
PRESET_SEED=x preset generate
assert_refused 'PRESET_SEED: "x" is not a whole number'
preset generate --seed -1
assert_refused '--seed: "-1" is not a whole number'
preset generate --count 10001
assert_refused "--count: 10001 is out of range; accepted: 0 to 10000"
preset generate hostile_inptu
assert_refused 'unknown profile "hostile_inptu"; did you mean "hostile_input"?'
preset generate --severity mid
assert_refused 'unknown level "mid"; accepted: low, high'
SANDBOX_INCLUDE_USER_MISUSE=perhaps preset generate
assert_refused "SANDBOX_INCLUDE_USER_MISUSE: "
preset genrate
assert_refused 'unknown verb "genrate"; did you mean generate?'
preset generate -o "$tmp/none/x"
assert_ne "$status" 0
assert_contains "$stderr" "$tmp/none"

# The canonical ones: all, at both levels.
preset canonical
assert_eq "$(jq -c 'map_values(keys)' <<<"$stdout")" \
	'{"high_latency_api":["high","low"],"hostile_input":["high","low"],"user_misuse":["high","low"],"concurrency_spike":["high","low"],"schema_drift":["high","low"],"flaky_upstream":["high","low"]}'
preset canonical --core
assert_eq "$(jq length <<<"$stdout")" 4
preset canonical flaky_upstream --level low
assert_eq "$(jq -Sc . <<<"$stdout")" \
	'{"CPU_LIMIT":"1","FAILURE_MODES":"flaky_upstream","MEMORY_LIMIT":"512Mi","SANDBOX_STUB_STRATEGY":"flaky_upstream","SCENARIO_NAME":"flaky_upstream","THREAT_INTENSITY":20,"UPSTREAM_FAILURES":1,"UPSTREAM_REQUESTS":20}'
preset canonical --level mid
assert_refused '--level: unknown level "mid"; accepted: low, high'
