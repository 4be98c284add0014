#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Copies are held until all are ready: programs that are over in a moment meet nevertheless, half of them at least
#
# lane: soak (how many have begun before the first is over is the scheduler's)

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/store.sh"
need_root
need_cgroups

menace scenario run -p '{"SCENARIO_NAME": "crowd", "CONCURRENCY_LEVEL": 24, "MEMORY_LIMIT": "32Mi"}' --max-memory 1Gi \
	--max-cpus 24 --json -- true
assert_status 0
assert_eq "$(gojq -c '.cells[] | select(.arm == "on") | [.verdict, .copies, .copies_passed, .at_once >= 12]' <<<"$stdout")" \
	'["passed",24,24,true]'
cat >"$tmp/flow.json" <<'EOF'
{"schema": "menace.flow/1", "name": "two", "combined": false,
 "steps": [{"name": "a", "program": ["true"]}, {"name": "b", "program": ["true"], "needs": ["a"]}]}
EOF
menace scenario run "$tmp/flow.json" -p '{"SCENARIO_NAME": "crowd", "CONCURRENCY_LEVEL": 4, "MEMORY_LIMIT": "32Mi"}' --json
assert_status 0
assert_eq "$(gojq -c '.cells[] | select(.arm == "on") | [.verdict, .at_once]' <<<"$stdout")" '["passed",4]'
