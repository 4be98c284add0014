#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Three small projects (tests/projects), each with a planted weakness: it is found by the profile that is
# meant to find it and by its own seed again, the other profiles happen too and are survived

. "$(dirname "$0")/../../lib/system.sh"
. "$repo/tests/lib/store.sh"
need_root
need_cgroups
need_system_program python3 curl gcc

cp -r "$repo/tests/projects" "$tmp/projects"
chmod -R a+rX "$tmp/projects"
gcc -O1 -fstack-protector-strong -o "$tmp/projects/ledger/ledger" "$tmp/projects/ledger/ledger.c" ||
	fail "ledger.c does not compile"

# tried PROJECT PROFILES [SEED]: a line each, "PROFILE:LEVEL VERDICT", and what it said last where it failed.
tried()
{
	menace scenario run "$tmp/projects/$1/flow.json" --scenarios "$2" -s "${3:-5}" -j 2 \
		--max-memory 16Gi --json
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
assert_eq "$(tried rates $profiles)" "$first" "the same seed"

# A name is copied into 32 bytes, however long it is.
assert_eq "$(tried ledger hostile_input:low,schema_drift:low)" 'hostile_input:low failed step "add": signaled
schema_drift:low passed'
assert_eq "$(happened hostile_input stubs) $(happened schema_drift stubs)" "1 1 1 1"
assert_contains "$(json '.cells[] | select(.scenario == "hostile_input" and .arm == "on") | .said')" "stack smashing"

# A field is found by its place.
assert_eq "$(tried tally schema_drift:low)" 'schema_drift:low failed step "count": exited with status 1'
assert_eq "$(json '.cells[] | select(.arm == "on") | .said')" "not all votes were counted"
assert_eq "$(happened schema_drift stubs)" "1 1"

# Many copies at once, with more tasks within each and a busy processor beside them.  On a busy machine not half
# of them may be at one time, which is told; an emulated one takes minutes for them.
if [ "$MENACE_SLOWDOWN" -lt 5 ]; then
	copies=$(tried tally concurrency_spike:low 3)
	[ "$copies" = "concurrency_spike:low inconclusive" ] &&
		copies="$(json '.cells[] | select(.arm == "on") | .why[0]' | sed 's/at most [0-9]* of/N of/')"
	[ "$copies" = "CONCURRENCY_LEVEL: N of 20 copies ran at the same time" ] ||
		assert_eq "$copies" 'concurrency_spike:low passed'
	# All copies of a cell have one seed, and by this one each is met at its first occasion.
	assert_ge "$(happened concurrency_spike concurrency_spike | cut -d ' ' -f 2)" 20 "times that tasks joined"
	assert_ge "$(happened concurrency_spike cpu_spike | cut -d ' ' -f 2)" 1 "spikes"
fi

# A link with 200 ms each way and loss, and late answers: where the kernel can do it.
[ "$("$MENACE" doctor --json | jq -r '.checks[] | select(.name == "netem") | .state')" = ok ] || exit 0
assert_eq "$(tried tally high_latency_api:low)" 'high_latency_api:low passed'
assert_eq "$(json '.cells[] | select(.arm == "on") | .in_force.link.latency_ms')" 200
assert_ge "$(json '.cells[] | select(.arm == "on") | .wall_ms | floor')" 900 "ms with the delays"
