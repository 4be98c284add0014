#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# What is planted in the sample projects (tests/projects) is found by its profile with a fixed seed; all profiles
# over each of them, those that take time among them, have tests of their own: *_is_found_by_its_profile_alone
#

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/store.sh"
. "$repo/tests/lib/projects.sh"
need_system_program python3 curl

build_ledger

# tried PROJECT PROFILES [SEED]: a line each, "PROFILE:LEVEL VERDICT", and what it said last where it failed.
# What a copy is worth is not by its time here, which others on this machine decide, too.
tried()
{
	menace scenario run "$projects/$1/flow.json" --scenarios "$2" -s "${3:-5}" -j 2 \
		--max-memory 16Gi --slo 1h --json
	cp "$tmp/stdout" "$result"
	json '.cells[] | select(.arm == "on") | [.scenario + ":" + .level, .verdict, .failed_because // empty] | join(" ")'
}
# What happened in a cell, of a kind: opportunities and how many were taken.
happened()
{
	json ".cells[] | select(.arm == \"on\" and .scenario == \"$1\") | .in_force[\"$2\"] | [.opportunities, .fired] | join(\" \")"
}

# It asks once.
profiles=hostile_input:low,schema_drift:high,flaky_upstream:high
first=$(tried rates $profiles)
assert_eq "$first" 'hostile_input:low passed
schema_drift:high passed
flaky_upstream:high failed step "convert": exited with status 1'
assert_eq "$(json '.status, .worst_scenario')" "situationally weak
flaky_upstream"
assert_eq "$(json '.cells[] | select(.scenario == "flaky_upstream" and .arm == "on") | .said' | grep -cE 'HTTPError|reset|timed out|closed')" 1 "what it said"
assert_eq "$(happened hostile_input stubs)" "1 1"
assert_eq "$(happened schema_drift stubs)" "1 1"
assert_ge "$(happened schema_drift schema_drift | cut -d ' ' -f 2)" 1 "answers that drifted"
assert_ge "$(happened flaky_upstream flaky_upstream | cut -d ' ' -f 2)" 1 "requests that failed"
# The rate is what was counted; over its threshold is flagged, and what was not asked for is unknown.
read -r of drifted <<<"$(happened schema_drift schema_drift)"
rate=$(gojq -n "$drifted / $of")
breaches='[.cells[] | select(.scenario == "schema_drift") | "\(.arm) \(.metrics | [.schema_mismatch_rate, .schema_mismatch_rate_breach, .upstream_failure_rate_breach] | map(tostring) | join(" "))"] | sort | join(", ")'
assert_eq "$(json "$breaches")" "off null null null, on $rate $((drifted * 10 > of)) null"
export SCENARIO_METRIC_THRESHOLDS='{"schema_mismatch_rate": 1}'
assert_eq "$(tried rates $profiles)" "$first" "the same seed"
assert_eq "$(json "$breaches")" "off null null null, on $rate 0 null"
unset SCENARIO_METRIC_THRESHOLDS

# A name is copied into 96 bytes, however long it is.
assert_eq "$(tried ledger hostile_input:low,schema_drift:low)" 'hostile_input:low failed step "add": signaled
schema_drift:low passed'
assert_eq "$(happened hostile_input stubs) $(happened schema_drift stubs)" "1 1 1 1"
assert_contains "$(json '.cells[] | select(.scenario == "hostile_input" and .arm == "on") | .said')" "stack smashing"

# A line of the configuration is taken to have a "=" in it: found where it was cut.  Wrong arguments are refused,
# which is right; by another seed they are all that happens.  Five occasions: the arguments, two files that are
# configurations by their names (flow.json is one), and two variables of the step.
assert_eq "$(tried ledger user_misuse:high 13)" 'user_misuse:high failed step "add": signaled'
assert_eq "$(happened user_misuse user_misuse) $(json '.cells[] | select(.arm == "on") | .in_force.user_misuse.changes[] | .what + " " + .class')" \
	"5 1 configuration cut"
assert_eq "$(tried ledger user_misuse:high 10)" 'user_misuse:high passed'
assert_eq "$(json '.cells[] | select(.arm == "on") | .in_force.user_misuse.changes[] | .what + " " + .class')" "arguments doubled"

# A field is found by its place.
assert_eq "$(tried tally schema_drift:low)" 'schema_drift:low failed step "count": exited with status 1'
assert_eq "$(json '.cells[] | select(.arm == "on") | .said')" "not all votes were counted"
assert_eq "$(happened schema_drift stubs)" "1 1"
