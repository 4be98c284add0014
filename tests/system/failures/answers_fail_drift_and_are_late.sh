#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# flaky_upstream fails exactly F of R requests, schema_drift changes exactly M of C JSON answers in
# one field, api_latency makes some late, credentials are refused and bytes of answers damaged: what the
# program meets is what is told

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/mocks.sh"

need_system_program python3

failure()
{
	json ".failures[] | select(.mode == \"$1\") | .$2"
}

body='{"id":7,"user":{"name":"x","tags":[1,2]}}'
# A line an answer: what it was.  ask COUNT [NUMBER...]: of these it is known that they never come.
ask='
import sys, urllib.error, urllib.request
for i in range(int(sys.argv[1])):
    try:
        print(urllib.request.urlopen("http://api.example/", timeout=0.3 if str(i) in sys.argv[2:] else 50).read().decode())
    except urllib.error.HTTPError as e:
        print(e.code)
    except (ConnectionResetError, TimeoutError) as e:
        print(type(e).__name__)'
# How many of the answers take longer than so many milliseconds.
count_late='
import sys, time, urllib.request
def took():
    begin = time.monotonic()
    urllib.request.urlopen("http://api.example/").read()
    return 1000 * (time.monotonic() - begin)
print(sum(took() > int(sys.argv[2]) for i in range(int(sys.argv[1]))))'

flaky=(--mock "api.example=body:$body" --set failure.modes=flaky_upstream --set failure.upstream_failures=2
	--set failure.upstream_requests=5)
for seed in 1 1 6; do
	stub "${flaky[@]}" --set failure.seed=$seed -- python3 -c "$ask" 15
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
assert_eq "${kinds[0]} ${kinds[2]}" "ConnectionResetError 503" "kinds that these seeds draw"
# Those that are not answered are the second and the fifth with this seed.
stub "${flaky[@]}" --set failure.seed=2 -- python3 -c "$ask" 5 1 4
assert_eq "$stdout" "$body
TimeoutError
$body
$body
TimeoutError" "answers that did not come, and did"
assert_eq "$(failure flaky_upstream opportunities) $(failure flaky_upstream fired)" "5 2"
# A mock that fails by itself goes on as it says.
stub --mock "api.example=fail:418:1/2,body:x" --set failure.modes=flaky_upstream -- python3 -c "$ask" 4
assert_eq "$(grep -c 418 <<<"$stdout") $(json .inconclusive)" "2 true"

# In which way each answer differs from BODY, in one place.
cat >"$tmp/drift.py" <<'END'
import json, sys
def differ(a, b, at):
    if type(a) is not type(b): return ["retyped " + at]
    if not isinstance(a, dict): return [] if a == b else ["other value " + at]
    gone, new = sorted(a.keys() - b.keys()), sorted(b.keys() - a.keys())
    if gone and [name + "_v2" for name in gone] == new: return ["renamed " + at + name for name in gone]
    return ["dropped " + at + name for name in gone] + ["added " + at + name for name in new] + \
        [d for name in a.keys() & b.keys() for d in differ(a[name], b[name], at + name + ".")]
for line in sys.stdin:
    found = differ(json.loads(sys.argv[1]), json.loads(line), "")
    if found: print(*found, sep=", ")
    if len(found) > 1 or found and found[0].startswith("other"): sys.exit("not one change")
END
for seed in 1 1 2; do
	stub --mock "api.example=type:application/json,body:$body" --set failure.modes=schema_drift \
		--set failure.schema_mismatches=3 --set failure.schema_checks=10 --set failure.seed=$seed \
		-- python3 -c "$ask" 20
	assert_status 0
	assert_eq "$(failure schema_drift opportunities) $(failure schema_drift fired)" "20 6"
	assert_eq "$(grep -cFx "$body" <<<"$stdout")" 14 "answers as they were"
	jq -c . <<<"$stdout" >"$tmp/answers" || fail "an answer is no JSON"
	kinds_of_drift+=("$(python3 "$tmp/drift.py" "$body" <"$tmp/answers")") || fail "more than one field: ${kinds_of_drift[-1]}"
	drifted+=("$stdout")
done
assert_eq "${drifted[1]}" "${drifted[0]}" "the same seed"
assert_ne "${drifted[2]}" "${drifted[0]}" "another seed"
assert_eq "$(wc -l <<<"${kinds_of_drift[0]}")" 6 "answers with another field"
assert_ge "$(printf '%s\n' "${kinds_of_drift[@]}" | cut -d ' ' -f 1 | sort -u | wc -l)" 3 "ways in which they are others"
# The variable UNEXPECTED_INPUT is another name of it.
stub --mock "api.example=type:application/json,body:$body" -p '{"UNEXPECTED_INPUT": true, "SCHEMA_MISMATCHES": 3, "SCHEMA_CHECKS": 10}' \
	--set failure.seed=1 -- python3 -c "$ask" 20
assert_eq "$(failure schema_drift opportunities) $(failure schema_drift fired) $(json .inconclusive)" "20 6 false"
assert_eq "$stdout" "${drifted[0]}" "the same by another name"
assert_eq "$(json .not_enforced)" "[]"
stub --mock "api.example=body:no JSON" --set failure.modes=schema_drift -- python3 -c "$ask" 3
assert_eq "$(failure schema_drift opportunities) $(json .inconclusive)" "0 true"

# Refused credentials are a part of the first: with 401 or 403, as each mock draws, and in no other way.
for drawn in 1:401 2:403; do
	stub --mock "api.example=body:$body" -p '{"BROKEN_AUTH": true, "UPSTREAM_FAILURES": 1, "UPSTREAM_REQUESTS": 2}' \
		--set failure.seed=${drawn%:*} -- python3 -c "$ask" 6
	assert_status 0
	assert_eq "$(failure flaky_upstream opportunities) $(failure flaky_upstream fired)" "6 3"
	assert_eq "$(sort <<<"$stdout" | uniq -c | xargs)" "$(printf '%s\n%s\n' "3 ${drawn#*:}" "3 $body" | sort | xargs)" "answers"
done
stub --mock "api.example=body:$body" -p '{"BROKEN_AUTH": true, "FAILURE_MODES": "flaky_upstream"}' -- true
assert_eq "$(json .inconclusive_why[0])" "flaky_upstream: it had no opportunity"

# Damaged bytes are a part of the second, and of any answer: its end is missing, or one bit is another one.
cat >"$tmp/damage.py" <<'END'
import sys, urllib.request
good = sys.argv[1].encode()
for i in range(int(sys.argv[2])):
    got = urllib.request.urlopen("http://api.example/").read()
    if got == good: print("good")
    elif len(got) < len(good): print("cut" if got and good.startswith(got) else "other")
    else: print("flipped", sum(bin(a ^ b).count("1") for a, b in zip(got, good)), len(got) - len(good))
END
# damaged SEED BODY COUNTS: what became of twenty answers.
damaged()
{
	stub --mock "api.example=body:$2" --ro "$tmp/damage.py:/damage.py" --set failure.seed="$1" \
		-p '{"CORRUPT_PAYLOAD": true, "SCHEMA_MISMATCHES": 1, "SCHEMA_CHECKS": 2}' -- python3 /damage.py "$2" 20
	assert_status 0
	assert_eq "$(failure schema_drift opportunities) $(failure schema_drift fired)" "20 10"
	assert_eq "$(sort <<<"$stdout" | uniq -c | xargs)" "$3" "damages of seed $1"
}
damaged 1 "$body" "3 cut 7 flipped 1 0 10 good"
first=$stdout
damaged 1 "$body" "3 cut 7 flipped 1 0 10 good"
assert_eq "$stdout" "$first" "the same seed"
damaged 2 "no JSON at all" "6 cut 4 flipped 1 0 10 good"

# With the mode itself there are both kinds: what is still JSON has another field, or another character.
stub --mock "api.example=body:$body" --ro "$tmp/damage.py:/damage.py" --set failure.modes=schema_drift \
	-p '{"CORRUPT_PAYLOAD": true, "SCHEMA_MISMATCHES": 1, "SCHEMA_CHECKS": 1}' --set failure.seed=1 -- python3 -c "$ask" 40
assert_eq "$(failure schema_drift fired)" 40
assert_ge "$(grep -cE '_v2|unknown_' <<<"$stdout")" 1 "answers with another field"
assert_eq "$(grep -cFx "$body" <<<"$stdout")" 0 "answers as they were"

for _ in 1 2; do
	stub --mock "api.example=body:$body" -p '{"FAILURE_MODES": "api_latency", "API_LATENCY_MS": 50, "THREAT_INTENSITY": 30}' \
		--set failure.seed=1 -- python3 -c "$count_late" 10 45
	assert_status 0
	assert_eq "$(json '.failures[0] | "\(.mode) \(.opportunities) \(.fired) \(.ns)"')" "api_latency 10 5 250000000"
	assert_ge "$stdout" 5 "late answers"
done

run --net loopback --set failure.modes=flaky_upstream -- true
assert_refused "failure.modes: flaky_upstream: it needs answers of ours: net.mode=stub"
