#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# A policy is learned from what the store has of runs, is followed by adapt, and is the same each time;
# where there is nothing to learn from, that is told and nothing is written
# sanitizers

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/store.sh"
. "$repo/tests/lib/preset.sh"

need_program python3 jq

# put PROGRAM MEMORY_MIB [CPUS [REASON]]: a run of one that needs 128 MiB, a second after the last one.
n=0
put()
{
	n=$((n + 1))
	python3 - "$store.spool" "$n" "$@" <<-'END' || fail "cannot make a record"
		import hashlib, json, sys
		spool, n, program, mib, cpus, reason = sys.argv[1:] + ["1", ""][len(sys.argv) - 5:]
		dies = int(mib) <= 128
		run_id = "01m8grcbq84h03083qe5vt%04d" % int(n)
		payload = json.dumps({"schema": "menace.record/1", "run_id": run_id, "program": program, "argv": [program],
		    "argv_bytes": 1, "argv_truncated": False, "stored_boot_ns": 1, "stored_real_us": 1, "result": {
		    "schema": "menace.result/1", "run_id": run_id, "version": "1",
		    "reason": reason or ("oom" if dies else "exited"),
		    "started_at": "2026-11-28T03:00:%02d.000000Z" % int(n),
		    "exit": {"status": 137 if dies else 0},
		    "usage": {"wall_us": 1000000, "cpu": {"usage_us": 500000 * int(cpus)}, "memory": {"peak_bytes": 134217728}},
		    "limits": {"cpus": int(cpus), "memory_max_bytes": int(mib) << 20}}}).encode()
		digest = hashlib.sha256(payload).hexdigest()
		with open(spool, "ab") as f:
		    f.write(b"\nmr1 %d %s " % (len(payload), digest.encode()) + payload + b"\n")
	END
}

learn()
{
	preset learn-policy -o "$tmp/policy.json" "$@"
}

# Nothing there, or nothing that followed upon anything.
learn
assert_status 125
assert_contains "$stderr" "there is no store $store yet"
for program in /bin/a /bin/a /bin/b; do
	put "$program" 128
done
learn
assert_status 1
assert_contains "$stderr" "nothing to learn from: 3 runs of 2 programs, and none after two of the same program"
put /bin/a 256 2
learn
assert_status 1
assert_contains "$stderr" "none after two of the same program that changed one limit at most"
[ ! -e "$tmp/policy.json" ] || fail "it is written"

# More memory makes it succeed, less makes it fail; what its user ended says nothing.
menace purge --all
assert_status 0
for memory in 128 128 256; do
	put /bin/a "$memory"
done
put /bin/a 512 1 killed_by_user
put /bin/a 128
learn --until 2026-11-29
assert_status 0
assert_contains "$stderr" "learned from 2 steps of 4 runs of 1 programs; 0 that changed several limits at once are left out"
assert_eq "$(jq -cS .states "$tmp/policy.json")" \
	'{"0,0,0,0,0,0,0":{"memory+":0.75,"none":0},"1,0,0,0,0,-1,0":{"memory-":-0.75,"none":0}}'
cp "$tmp/policy.json" "$tmp/first.json"
learn
cmp -s "$tmp/policy.json" "$tmp/first.json" || fail "another policy: $(cat "$tmp/policy.json")"
preset import-policy "$tmp/policy.json"
assert_status 0

# It is followed: in the state of three equal failures, and in that of a success with less of its limit.
base='{"CPU_LIMIT": "1", "MEMORY_LIMIT": "512Mi", "THREAT_INTENSITY": 30}'
echo '{"roi": [0, 0, 0], "memory_usage": [1, 1]}' >"$tmp/metrics.json"
preset adapt "$base" -m "$tmp/metrics.json" --policy "$tmp/policy.json"
assert_status 0
assert_eq "$(gojq -r .MEMORY_LIMIT <<<"$stdout")" 1024Mi
assert_contains "$stderr" '(policy (up): in the state 0,0,0,0,0,0,0 it gives memory+ 0.75, the most of 2)'
echo '{"roi": [0, 0, 1], "memory_usage": [1, 0.5]}' >"$tmp/metrics.json"
preset adapt "$base" -m "$tmp/metrics.json" --policy "$tmp/policy.json" --explain
assert_status 0
assert_eq "$(gojq -r .MEMORY_LIMIT <<<"$stdout")" 512Mi
assert_contains "$stderr" 'policy: memory- is worth -0.75'
assert_contains "$stderr" 'policy: none is worth 0, taken'

# Which runs, how fast, and from where.
learn --program /bin/z
assert_status 1
assert_contains "$stderr" "nothing to learn from: 0 runs of 0 programs"
learn --rate 100 --since 2026-11-28
assert_eq "$(jq -c '.states["0,0,0,0,0,0,0"]["memory+"]' "$tmp/policy.json")" 1.5
learn --policy "$tmp/first.json"
assert_eq "$(jq -c '.states["0,0,0,0,0,0,0"]["memory+"]' "$tmp/policy.json")" 1.125
learn --rate 0
assert_refused "--rate: 0 is out of range; accepted: 1 to 100"
learn --discount 101
assert_refused "--discount: 101 is out of range; accepted: 0 to 100"
learn --policy "$tmp/nothing.json"
assert_refused "--policy: "
