#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# A trajectory is five stages in their order, each measured by the first; one that is killed goes on with the
# stages that are missing; table, JSON, JUnit and the page have it
#

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/store.sh"
. "$repo/tests/lib/gate.sh"
need_root
need_cgroups
use_gate
need_system_program curl

# It asks twice at once, so that of two answers one may be refused and the other one damaged, and fails when one has not
# the field that it knows.
mkdir "$tmp/w"
cat >"$tmp/w/flow.json" <<'END'
{"schema": "menace.flow/1", "name": "a&b", "combined": false, "limits": {"wall_ms": "60s"},
 "stubs": {"v": {"templates": [{"votes": [1, 2]}]}},
 "test_data": {"http://votes.test/": {"stub": "v"}},
 "steps": [{"name": "ask", "program": ["sh", "-c", "bad=0; for i in 1 2; do curl -sS http://votes.test/ >$i & done; wait; for i in 1 2; do grep -q '^{\"votes\":\\[1,2\\]}' $i || bad=1; done; sh /gate/pass; exit $bad"]}]}
END
stages="normal high_latency resource_strain schema_drift chaotic_failure"

close_gate 3
"$MENACE" scenario run --trajectory "$tmp/w/flow.json" -s 5 --slo 1h >"$tmp/stdout" 2>"$tmp/stderr" &
pid=$!
wait_until 50 is_waiting 4 || fail "no fourth cell"
kill_all "$pid"
open_gate
id=$("$MENACE" query 'SELECT matrix FROM matrices' --json | gojq -r .matrix)
menace scenario run --resume "$id" --json --junit "$tmp/junit.xml" --html "$tmp/page.html"
assert_status 1
cp "$tmp/stdout" "$result"
assert_eq "$(json '[.trajectory.stages[].stage] | join(" ")')" "$stages"
assert_eq "$(json '[.trajectory.stages[].stage_alias] | join(" ")')" "baseline latency_spike io_cpu_strain schema_drift chaotic_failure"
assert_eq "$(json '[.cells[].n] | sort == [range(0; 10)]')" true
assert_eq "$(json '[.cells[] | select(.arm == "on") | .scenario] | join(" ")')" "$stages"
# Five entries, each with all of its numbers, and in the last one what it is called for happened.
assert_eq "$(json '[.trajectory.stages[] | [.stage, .stability, .roi_delta, .resilience, .scenario_degradation] | map(type) | join(" ")] | unique | join(", ")')" \
	"string number number number number"
assert_eq "$(json '.cells[] | select(.arm == "on" and .scenario == "chaotic_failure") | [.verdict, (.why | length), (.in_force | .flaky_upstream, .schema_drift | .opportunities, .fired)] | map(tostring) | join(" ")')" \
	"failed 0 2 1 1 1" "the stage of refused credentials and damaged answers"
assert_eq "$(json '.trajectory | [.verdict, .broke_at] | join(" ")')" "failed schema_drift"
assert_eq "$(json '.trajectory.stages[] | select(.stage == "schema_drift") | [.verdict, .success, .resilience] | join(" ")')" "failed 0 0"
assert_eq "$(json '.trajectory.stages[0] | [.verdict, .roi_delta, .resilience, .stability, .scenario_degradation] | join(" ")')" "passed 0 1 0 0"
assert_eq "$(json '.trajectory.metrics | .schema_drift_degradation < 0 and .baseline_roi > 0')" true
assert_eq "$(grep -c '<testcase classname="trajectory"' "$tmp/junit.xml")" 5
command -v xmllint >/dev/null && assert_eq "$(xmllint --xpath 'concat(count(//testsuite), " ", count(//testsuite[2]/testcase), " ", //testsuite[2]/@failures, " ", //testsuite[2]/@name)' "$tmp/junit.xml")" \
	"2 5 2 a&b trajectory"
command -v xmllint >/dev/null && assert_eq "$(xmllint --xpath 'string(//testsuite[2]/testcase[failure][1]/@name)' "$tmp/junit.xml")" schema_drift
assert_contains "$(cat "$tmp/page.html")" "Trajectory: failed, broke at schema_drift"

message="string(//testcase[@name='schema_drift']/failure/@message)"
command -v xmllint >/dev/null &&
	assert_match "$(xmllint --xpath "$message" "$tmp/junit.xml")" '^worth 0\.000, [-][0-9.]+ against the first stage$'

menace scenario run --trajectory -s 2 -- true
assert_contains "$stdout" "trajectory: inconclusive"
assert_contains "$stdout" "resource_strain            passed"
menace scenario run --trajectory --all -- true
assert_refused "--trajectory has stages of its own"
menace scenario run --trajectory -j 2 -- true
assert_refused "--jobs: the stages of a trajectory come one after the other"
menace scenario run --resume "$id" --trajectory
assert_refused "--resume: what was begun is known"
