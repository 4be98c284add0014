#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# What check says of a preset is what menace-run then does: it applies, it refuses with the same
# words, and by the --best-effort that check names it starts and tells what is missing

. "${0%/*}/../../lib/system.sh"
. "${0%/*}/../../lib/preset.sh"

need_root

# try PRESET: judge it, run it, compare.  What the kernel of this host cannot do to a link is not
# the preset's fault.
try()
{
	local applied names net verdict

	preset check --json --user-misuse "$1"
	verdict=$(gojq -r .verdict <<<"$stdout")
	names=$(gojq -r '[.presets[].best_effort[]] | join(",")' <<<"$stdout")
	net=$(gojq -r '.presets[0].net // "none"' <<<"$stdout")
	applied=$(jq -c '[.presets[].variables[] | select(.effect == "applied") | .knobs | keys[]] | unique' \
		<<<"$stdout")
	case $verdict in
	accepted)
		assert_status 0
		assert_eq "$names" ""
		run --net "$net" --best-effort net --preset "$1" -- true
		assert_status 0
		assert_eq "$(json '.not_enforced | length')" 0
		;;
	refused)
		assert_status 1
		run --net "$net" --preset "$1" -- true
		assert_status 2
		assert_contains "$stderr" "not enforced by this version"
		run --net "$net" --best-effort "net,$names" --preset "$1" -- true
		assert_status 0
		assert_eq "$(json '.not_enforced | sort | join(",")')" \
			"$(tr , '\n' <<<"$names" | sort | paste -sd, -)" "what was not enforced"
		;;
	esac
	run_plain "$MENACE_RUN" --dry-run --net "$net" ${names:+--best-effort "$names"} --preset "$1" -- true
	assert_eq "$(jq -c '[.knobs | to_entries[] | select(.value.origin == "preset").key] | unique' \
		<<<"$stdout")" "$applied" "knobs of $1"
	applied_last=$applied
}

# A condition of the network needs one, and check says which.
preset check '{"NETWORK_LATENCY_MS": 5}'
assert_contains "$stdout" "it needs menace-run --net loopback"
run --preset '{"NETWORK_LATENCY_MS": 5}' -- true
assert_status 2
try '{"NETWORK_LATENCY_MS": 5}'
assert_eq "$applied_last" '["net.latency_ms"]'
# The seed that made a preset decides its packets, too.
try '{"PACKET_LOSS": "5%", "PRESET_SEED": 77}'
assert_eq "$(json .receipt.network.shaping.requested.seed)" 77

preset generate -s 77 -n 1
try "$(jq -c '.[0]' <<<"$stdout")"
preset canonical concurrency_spike --level low
try "$stdout"
try '{"CPU_LIMIT": "0.5", "TIMEOUT": "20s", "PRESET_SEED": 5, "SCENARIO_NAME": "x", "GPU_LIMIT": 0}'
assert_eq "$(json '[.name, .limits.cpus, .limits.wall_ms] | join(" ")')" "x 0.5 20000"
assert_ne "$applied_last" "[]" "knobs that were applied"

# Malformed: the same words.
for bad in '{"CPU_LIMIT": 65}' '{"MEMORY_LIMT": "1Gi"}' '{"FAILURE_MODES": ["disk", "netwrok"]}' \
	'{"SANDBOX_DOCKER": 1}'; do
	preset check --json "$bad"
	assert_status 2
	problem=$(gojq -r '.presets[0].problems[0]' <<<"$stdout")
	run --preset "$bad" -- true
	assert_refused "--preset: ${problem#text: }"
done

# All problems at once, by place.
echo '[{"CPU_LIMIT": "1"}, {"CPU_LIMIT": 65, "MEMORY_LIMT": "1Gi"}]' >"$tmp/two.json"
preset check -q "$tmp/two.json"
assert_status 2
assert_contains "$stdout" "$tmp/two.json: [0]: accepted"
assert_contains "$stdout" "[1].CPU_LIMIT: \"65\" is out of range; accepted: 0.01 to 64, or unlimited"
assert_contains "$stdout" 'unknown preset variable "MEMORY_LIMT"; did you mean "MEMORY_LIMIT"?'

# What menace-run refuses for another reason.
preset check '{"SECURITY_LEVEL": 1}'
assert_status 1
assert_contains "$stdout" "level 1 keeps capabilities"
run --preset '{"SECURITY_LEVEL": 1}' -- true
assert_status 2
preset check '{"MIN_BANDWIDTH": "5mbps", "MAX_BANDWIDTH": "1mbps"}'
assert_status 2
assert_contains "$stdout" 'MIN_BANDWIDTH "5mbps" is over MAX_BANDWIDTH "1mbps"'

# Misuse on purpose needs consent.
preset check user_misuse
assert_status 1
assert_contains "$stdout" "it misuses on purpose"
ALLOW_USER_MISUSE_PRESETS=1 preset check user_misuse
assert_not_contains "$stdout" "it misuses on purpose"

# A loss that may be a fraction is told, and is one on demand.
preset show '{"PACKET_LOSS": 0.05}'
assert_contains "$stderr" "PACKET_LOSS: 0.05 is 0.05 percent; if it was meant as a fraction of 1, say --loss-unit fraction"
preset show --json --loss-unit fraction '{"PACKET_LOSS": 0.05}'
assert_eq "$stderr" ""

preset show --json '{"CPU_LIMIT": "0.5"}'
assert_eq "$(gojq -r '.knobs["limits.cpus"].text' <<<"$stdout")" 0.5
assert_eq "$(gojq -r .spec.limits.cpus <<<"$stdout")" 0.5
assert_eq "$(gojq -r .spec.schema <<<"$stdout")" menace.spec/1
