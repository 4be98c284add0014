#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# CONCURRENCY_LEVEL is that many sandboxes at once, each told by itself and all together; what does not fit
# under the cap is told and not taken for done
#

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/store.sh"
. "$repo/tests/lib/gate.sh"
need_root
need_cgroups
check_leaks
use_gate

preset='{"SCENARIO_NAME": "crowd", "CONCURRENCY_LEVEL": 4, "MEMORY_LIMIT": "32Mi"}'
# meets WORDS...: a matrix of a program in two arms, of which the first is one copy; the four of the other one wait
# until all of them are there.
meets()
{
	close_gate 1
	"$MENACE" scenario run -p "$preset" -s 3 --json "$@" >"$result" 2>"$tmp/stderr" &
	pid=$!
	wait_until 50 is_waiting 5 || fail "no four copies at once: $(<"$tmp/stderr")"
	open_gate
	let_go 4
	wait "$pid"
	assert_eq $? 0 "exit status"
	assert_eq "$(json '[.cells[].arm] | join(" ")')" "off on" "order of the arms"
}
meets -- sh /gate/pass
assert_eq "$(gojq -c '.cells[] | select(.arm == "on") | [.verdict, .copies_asked, .copies, .copies_passed, .at_once, (.per_copy | length), ([.per_copy[].runs[]] | unique | length)]' "$result")" \
	'["passed",4,4,4,4,4,4]'
assert_eq "$(gojq -c '.cells[] | select(.arm == "off") | [.copies, .at_once]' "$result")" '[1,1]'
assert_eq "$(gojq '.cells[] | select(.arm == "on") | (.aggregate.cpu_ms - ([.per_copy[].cpu_ms] | add)) | fabs < 0.001' "$result")" true

# More of them than processors, each over in a moment (short_programs_that_are_held_meet has how many meet).
menace scenario run -p '{"SCENARIO_NAME": "crowd", "CONCURRENCY_LEVEL": 24, "MEMORY_LIMIT": "32Mi"}' --max-memory 1Gi \
	--max-cpus 24 --json -- true
assert_status 0
assert_eq "$(gojq -c '.cells[] | select(.arm == "on") | [.verdict, .copies, .copies_passed]' <<<"$stdout")" '["passed",24,24]'
# In the first step alone.
cat >"$tmp/flow.json" <<'EOF'
{"schema": "menace.flow/1", "name": "two", "combined": false,
 "steps": [{"name": "a", "program": ["sh", "/gate/pass"]}, {"name": "b", "program": ["true"], "needs": ["a"]}]}
EOF
meets "$tmp/flow.json"
assert_eq "$(json '.cells[] | select(.arm == "on") | [.verdict, .at_once, ([.per_copy[].runs[]] | unique | length)] | tojson')" \
	'["passed",4,8]'
# A program that is not there is let go, too: all is ready but it.
menace scenario run -p "$preset" --json -- /no/such/program
assert_eq "$(gojq -c '.cells[] | select(.arm == "on") | [.copies, .copies_passed]' <<<"$stdout")" '[4,0]'

# Three of them is what the memory allows.
menace scenario run -p "$preset" --max-memory 100Mi --json -- true
assert_status 7
cp "$tmp/stdout" "$result"
assert_eq "$(json '.cells[] | select(.arm == "on") | .copies')" 3
assert_contains "$(json '.cells[] | select(.arm == "on") | .why | join("; ")')" \
	"CONCURRENCY_LEVEL: 3 of 4 copies fit under the cap at once; all would by --max-memory 128Mi"
# By what it says they do.
menace scenario run -p "$preset" --max-memory 128Mi --json -- true
assert_eq "$(gojq '.cells[] | select(.arm == "on") | .copies' <<<"$stdout")" 4

# Each copy has a seed of its own, the first that of the cell, and the same ones by the same seed.
seeds()
{
	menace scenario run -p "$preset" -s "$1" --json -- true
	gojq -c '.cells[] | select(.arm == "on") | [.seed == .per_copy[0].seed, (.per_copy | map(.seed))]' <<<"$stdout"
}
first=$(seeds 7)
assert_eq "$(gojq -c '[.[0], (.[1] | unique | length)]' <<<"$first")" "[true,4]"
assert_eq "$(seeds 7)" "$first"

menace scenario run -p '{"CONCURRENCY_LEVEL": "x"}' -- true
assert_status 2
menace scenario run --max-memory lots -- true
assert_refused '--max-memory: "lots" is not a size'
