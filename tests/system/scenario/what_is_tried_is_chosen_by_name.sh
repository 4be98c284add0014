#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Scenarios are chosen by names, profiles with levels and presets; five are tried by default and eight with
# --all, and a canonical profile without a verdict can be made a failure
#

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/store.sh"
need_root
export MENACE_STORE=none

# chosen OPTIONS...: what is tried, with a program that is not there.
chosen()
{
	menace scenario run -s 1 -j 2 --json "$@" -- /nowhere
	gojq -r '[.scenarios[] | .name + ":" + .level] | join(" ")' <<<"$stdout"
}
five="normal:- concurrency_spike:- hostile_input:- schema_drift:- flaky_upstream:-"
assert_eq "$(chosen)" "$five"
assert_eq "$(chosen --all)" "$five high_latency:- resource_strain:- chaotic_failure:-"
assert_eq "$(chosen --scenarios baseline,strain --scenarios normal)" "normal:- resource_strain:-"
assert_eq "$(chosen --scenarios schema_drift:low,user_misuse)" \
	"schema_drift:low user_misuse:low user_misuse:high"
assert_eq "$(chosen --scenarios schema_drift,schema_mismatch --levels high)" "schema_drift:high"

menace scenario run --scenarios normal --fail-on-missing-scenarios -- true
assert_status 1
assert_contains "$stderr" "6 canonical profiles came to no verdict, the first is high_latency_api"
menace scenario run --scenarios normal --slo 1h -- true
assert_status 0
# One that is like all the others is not the worst.
assert_not_contains "$stdout" "WORST"
assert_not_contains "$stdout" "worst_scenario"
assert_contains "$stdout" "status: robust"
menace scenario run --scenarios normal -p '[{}, {}]' --slo 1h -- true
assert_status 0
assert_not_contains "$stdout" "WORST"
menace scenario run --scenarios normal -p '{"SCENARIO_NAME": "few", "MAX_THREADS": 1}' -- sh -c 'true | true'
assert_status 1
assert_match "$stdout" "few .* <== WORST"
menace scenario run --scenarios normal -- false
assert_status 1
assert_contains "$stdout" 'step "run": exited with status 1'
# What fails without any condition is weak, and no condition is to blame.
fails_anyhow()
{
	assert_status 1
	assert_eq "$(grep -E '^(worst_scenario|status|advice):' <<<"$stdout")" "status: weak
advice: it fails without any condition: make it pass on its own first"
}
fails_anyhow
menace scenario run --scenarios resource_strain --slo 1h -- false
fails_anyhow
menace scenario run --scenarios normal,concurrency_spike --slo 1h -- sh -c 'sleep 0.2; exit 1'
fails_anyhow

menace scenario run --scenarios hostile_inptu -- true
assert_refused '--scenarios: unknown scenario "hostile_inptu"; did you mean "hostile_input"?'
menace scenario run --scenarios schema_drift:medium -- true
assert_status 2
menace scenario run --levels low -- true
assert_refused "--levels is of the profiles that --scenarios names"
menace scenario run
assert_refused "one target is what is tried"
menace scenario run --scenaros normal -- true
assert_refused 'unknown option "--scenaros"'
menace scenario run 7
assert_refused "workflow 7 is looked for in a store, and there is none"
menace scenario run -r 0 -- true
assert_refused "--replicates: 0 is out of range; accepted: 1 to 10000"
menace scenario run --all -r 10000 -- true
assert_refused "8 scenarios, 10000 times, in two arms are more than 100000 cells"
menace scenario run -p '[{}, {}]' --scenarios normal -- true
assert_eq "$(grep -c '^preset_[01] ' <<<"$stdout")" 2
menace scenario run -p '[{"SCENARIO_NAME": "x"}, {"SCENARIO_NAME": "x"}]' -- true
assert_refused 'two scenarios are called "x"'
menace scenario run -p '{"CPU_LIMIT": "0"}' -- true
assert_refused "CPU_LIMIT"
