#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# any kernel
#
# flaky_upstream fails exactly F of R requests, schema_drift changes exactly M of C JSON answers in
# one field, api_latency makes some late: what the program meets is what is told

. "$(dirname "$0")/../../lib/system.sh"
. "$repo/tests/lib/mocks.sh"

need_system_program python3

failure()
{
	json ".failures[] | select(.mode == \"$1\") | .$2"
}

body='{"id":7,"user":{"name":"x","tags":[1,2]}}'
# A line an answer: late or not, and what it was.
ask='
import sys, time, urllib.error, urllib.request
for i in range(int(sys.argv[1])):
    begin = time.monotonic()
    try:
        what = urllib.request.urlopen("http://api.example/", timeout=0.3).read().decode()
    except urllib.error.HTTPError as e:
        what = str(e.code)
    except (ConnectionResetError, TimeoutError) as e:
        what = type(e).__name__
    print("late" if time.monotonic() - begin > 0.19 else "soon", what)'

for seed in 1 1 2; do
	stub --mock "api.example=body:$body" --set failure.modes=flaky_upstream --set failure.upstream_failures=2 \
		--set failure.upstream_requests=5 --set failure.seed=$seed -- python3 -c "$ask" 15
	assert_status 0
	for at in 1 6 11; do
		assert_eq "$(tail -n +$at <<<"$stdout" | head -5 | grep -cF "$body")" 3 "answers of five"
	done
	assert_eq "$(failure flaky_upstream opportunities) $(failure flaky_upstream fired)" "15 6"
	assert_eq "$(mock api.example failures)" 6
	assert_eq "$(grep -vF "$body" <<<"$stdout" | sort -u | wc -l)" 1 "kinds of failure"
	patterns+=("$stdout")
	kinds+=("$(grep -vF "$body" <<<"$stdout" | head -1)")
done
assert_eq "${patterns[1]}" "${patterns[0]}" "the same seed"
assert_ne "${patterns[2]}" "${patterns[0]}" "another seed"
for kind in "${kinds[@]}"; do
	assert_match "$kind" '^(soon 503|soon ConnectionResetError|late TimeoutError)$'
done
# A mock that fails by itself goes on as it says.
stub --mock "api.example=fail:418:1/2,body:x" --set failure.modes=flaky_upstream -- python3 -c "$ask" 4
assert_eq "$(grep -c 418 <<<"$stdout") $(json .inconclusive)" "2 true"

for seed in 1 1 2; do
	stub --mock "api.example=type:application/json,body:$body" --set failure.modes=schema_drift \
		--set failure.schema_mismatches=3 --set failure.schema_checks=10 --set failure.seed=$seed \
		-- python3 -c "$ask" 20
	assert_status 0
	assert_eq "$(failure schema_drift opportunities) $(failure schema_drift fired)" "20 6"
	assert_eq "$(grep -cFx "soon $body" <<<"$stdout")" 14 "answers as they were"
	cut -d ' ' -f 2- <<<"$stdout" | jq -c . >"$tmp/answers" || fail "an answer is no JSON"
	drifted+=("$stdout")
done
assert_eq "${drifted[1]}" "${drifted[0]}" "the same seed"
assert_ne "${drifted[2]}" "${drifted[0]}" "another seed"
stub --mock "api.example=body:no JSON" --set failure.modes=schema_drift -- python3 -c "$ask" 3
assert_eq "$(failure schema_drift opportunities) $(json .inconclusive)" "0 true"

for seed in 1 1; do
	stub --mock "api.example=body:$body" -p '{"FAILURE_MODES": "api_latency", "API_LATENCY_MS": 200,
		"THREAT_INTENSITY": 30}' --set failure.seed=$seed -- python3 -c "$ask" 10
	late=$(grep -c late <<<"$stdout")
	assert_eq "$(failure api_latency opportunities) $(failure api_latency ns)" \
		"10 $(($(failure api_latency fired) * 200000000))"
	assert_ge "$late" "$(failure api_latency fired)" "late answers"
	assert_ge "$(failure api_latency fired)" 1
	assert_le "$(failure api_latency fired)" 9
	fired+=("$(failure api_latency fired)")
done
assert_eq "${fired[1]}" "${fired[0]}" "the same seed"

run --net loopback --set failure.modes=flaky_upstream -- true
assert_refused "failure.modes: flaky_upstream: it needs answers of ours: net.mode=stub"
