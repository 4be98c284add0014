#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# combine decides each variable by its rule, tells how, and refuses presets that contradict each
# other; what it makes menace-run takes
# sanitizers

. "${0%/*}/../../lib/system.sh"
. "${0%/*}/../../lib/preset.sh"

need_root

echo '{"CPU_LIMIT": "2", "SECURITY_LEVEL": 4, "SCENARIO_NAME": "a", "PRESET_SEED": 5}' >"$tmp/a.json"
echo '{"CPU_LIMIT": "1", "SECURITY_LEVEL": 3, "SCENARIO_NAME": "b", "TIMEOUT": "20s"}' >"$tmp/b.json"
preset combine "$tmp/a.json" "$tmp/b.json" -o "$tmp/both.json"
assert_status 0
assert_eq "$(jq -Sc . "$tmp/both.json")" \
	'{"CPU_LIMIT":"1","SCENARIO_NAME":"a+b","SECURITY_LEVEL":4,"TIMEOUT":"20s"}'
run --preset "$tmp/both.json" -- true
assert_status 0
assert_eq "$(json .name)" "a+b"
assert_eq "$(json .limits.cpus)" 1

preset combine --json "$tmp/a.json" "$tmp/b.json"
assert_eq "$(jq -c '.decided[] | select(.variable == "SECURITY_LEVEL") | [.rule, .value, [.of[].value]]' <<<"$stdout")" \
	'["highest",4,[4,3]]'
preset combine hostile_input:low flaky_upstream
assert_eq "$(jq -c '[.FAILURE_MODES, .SCENARIO_NAME, .THREAT_INTENSITY, .MALICIOUS_DATA]' <<<"$stdout")" \
	'[["hostile_input","flaky_upstream"],"hostile_input+flaky_upstream",40,true]'

preset combine '{"OS_TYPE": "linux"}' '{"OS_TYPE": "macos"}'
assert_refused 'OS_TYPE is "linux" in text and "macos" in text: a run has one'
echo '[{"MIN_BANDWIDTH": "50mbps"}, {"MAX_BANDWIDTH": "10mbps"}]' >"$tmp/rates.json"
preset combine "$tmp/rates.json"
assert_refused "MIN_BANDWIDTH \"50mbps\" of $tmp/rates.json: [0] is over MAX_BANDWIDTH \"10mbps\" of $tmp/rates.json: [1]"
preset combine '{"CPU_LIMIT": 65}' '{}'
assert_refused 'text: CPU_LIMIT: "65" is out of range; accepted: 0.01 to 64, or unlimited'
preset combine '[]'
assert_refused "there are no presets to combine"
preset combine nowhere
assert_refused 'neither a file nor a built-in preset: unknown profile "nowhere"'
preset combine "$tmp/none.json"
assert_refused "$tmp/none.json: No such file or directory"
