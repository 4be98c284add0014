#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# CONCURRENCY_LEVEL is that many sandboxes at once, each told by itself and all together; what does not fit
# under the cap is told and not taken for done
#
# any kernel

. "$(dirname "$0")/../../lib/system.sh"
. "$repo/tests/lib/store.sh"
need_root
need_cgroups
check_leaks
# serial

preset='{"SCENARIO_NAME": "crowd", "CONCURRENCY_LEVEL": 4, "MEMORY_LIMIT": "32Mi"}'
menace scenario run -p "$preset" --json -- sleep "$(scaled 1)"
assert_status 0
cp "$tmp/stdout" "$result"
assert_eq "$(jq -c '.cells[] | select(.arm == "on") | [.verdict, .copies_asked, .copies, .copies_passed, .at_once, (.per_copy | length), ([.per_copy[].runs[]] | unique | length)]' "$result")" \
	'["passed",4,4,4,4,4,4]'
assert_eq "$(jq -c '.cells[] | select(.arm == "off") | [.copies, .at_once]' "$result")" '[1,1]'
assert_eq "$(jq '.cells[] | select(.arm == "on") | (.aggregate.cpu_ms - ([.per_copy[].cpu_ms] | add)) | fabs < 0.001' "$result")" true

# Three of them is what the memory allows.
menace scenario run -p "$preset" --max-memory 100Mi --json -- true
assert_status 7
cp "$tmp/stdout" "$result"
assert_eq "$(json '.cells[] | select(.arm == "on") | .copies')" 3
assert_contains "$(json '.cells[] | select(.arm == "on") | .why | join("; ")')" \
	"CONCURRENCY_LEVEL: 3 of 4 copies fit under the cap at once"

menace scenario run -p '{"CONCURRENCY_LEVEL": "x"}' -- true
assert_status 2
menace scenario run --max-memory lots -- true
assert_refused '--max-memory: "lots" is not a size'
