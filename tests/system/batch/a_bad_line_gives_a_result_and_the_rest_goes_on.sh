#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Lines that are no spec, or ask for what cannot be, have a result of their own
# with the line's number; all others run
#
# sanitizers

. "${0%/*}/../../lib/system.sh"

need_root

good='{"schema": "menace.spec/1", "program": ["true"]}'
printf '%s\n' "$good" 'not json' '{"schema": "menace.spec/1"}' "$good" \
	'{"schema": "menace.spec/1", "program": ["true"], "limits": {"pids_max": 0}}' '[]' '""' \
	'{"schema": "menace.spec/1", "program": ["true"], "unknown": 1}' >"$tmp/specs"
printf '{"schema": "menace.spec/1", "program": ["true"]}\0garbage\n' >>"$tmp/specs"
printf '%s' "$good" >>"$tmp/specs"

run_plain "$MENACE_RUN" --batch -j 2 <"$tmp/specs"
assert_status 2
assert_eq "$(gojq -sc 'sort_by(.batch_index) | map(.reason)' "$tmp/stdout")" \
	'["exited","setup_error","setup_error","exited","setup_error","setup_error","setup_error","setup_error","setup_error","exited"]'
assert_eq "$(gojq -sc 'map(select(.reason == "setup_error")) | map("\(.exit.status) \(.error.code)") | unique' "$tmp/stdout")" \
	'["2 usage"]'
message()
{
	gojq -r "select(.batch_index == $1) | .error.message" "$tmp/stdout"
}
assert_contains "$(message 1)" "line 2"
assert_contains "$(message 4)" "line 5"
assert_contains "$(message 4)" "pids_max"
assert_contains "$(message 7)" "unknown"

# A good spec that cannot be set up: 125 or the status of its error, told in the result.
run_plain "$MENACE_RUN" --batch <<<'{"schema": "menace.spec/1", "program": ["no-such-program"]}'
assert_status 125
assert_eq "$(gojq -r '"\(.reason) \(.exit.status) \(.error.code)"' "$tmp/stdout")" "setup_error 127 noent"

# Blank lines are nothing, but count as lines.
printf '\n\n%s\n  \nbad\n' "$good" >"$tmp/specs"
run_plain "$MENACE_RUN" --batch <"$tmp/specs"
assert_status 2
assert_eq "$(gojq -sc 'map(.batch_index)' "$tmp/stdout")" '[0,1]'
assert_contains "$(message 1)" "line 5"
