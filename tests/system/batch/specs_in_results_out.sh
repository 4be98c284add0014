#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# One result for each spec, whatever the number at once, told apart by
# batch_index; each with its own output, exit and identity
#
# sanitizers

. "${0%/*}/../../lib/system.sh"

need_root

for i in $(seq 0 9); do
	printf '{"schema": "menace.spec/1", "name": "n%d", "program": ["sh", "-c", "echo out %d; echo err >&2; exit %d"]}\n' "$i" "$i" "$i"
done >"$tmp/specs"

for jobs in 1 2 8 64; do
	run_plain "$MENACE_RUN" --batch -j $jobs <"$tmp/specs"
	assert_status 0
	assert_eq "$(wc -l <"$tmp/stdout")" 10 "lines with -j $jobs"
	assert_eq "$(gojq -s 'map(select(.exit.code == .batch_index and .name == "n\(.batch_index)" and
		.stdout.text == "out \(.batch_index)\n" and .stderr.text == "err\n" and .reason == "exited")) | length' \
		"$tmp/stdout")" 10 "right results with -j $jobs"
	assert_eq "$(gojq -s 'map(.run_id) | unique | length' "$tmp/stdout")" 10 "run ids"
	assert_eq "$stderr" "" "messages"
done
assert_eq "$(gojq -s 'map(.batch_index) == [range(10)]' <("$MENACE_RUN" --batch <"$tmp/specs"))" true "order of -j 1"

# Options are what every line starts from.
run_plain "$MENACE_RUN" --batch --pids 33 -e A=b <<<'{"schema": "menace.spec/1", "program": ["sh", "-c", "echo $A"]}'
assert_eq "$(gojq -r '"\(.limits.pids_max) \(.stdout.text)"' "$tmp/stdout")" $'33 b'

# What most of a result is about is left out on request, and kept all the same.
. "$repo/tests/lib/store.sh"
run_plain "$MENACE_RUN" --batch --brief <<<'{"schema": "menace.spec/1", "program": ["sh", "-c", "echo out"]}'
assert_status 0
assert_eq "$(gojq -c '[(.timings | keys), (.telemetry | keys), .stdout.text, .usage.wall_us > 0, (.receipt.cgroup | has("state"))]' \
	"$tmp/stdout")" '[["held_us","setup_us"],["losses"],"out\n",true,true]'
menace show "$(gojq -r .run_id "$tmp/stdout")" --json
assert_status 0
assert_eq "$(gojq -c '.run | .setup_us > 0' "$tmp/stdout")" true "timings that are kept"

# Nothing in, nothing out.
run_plain "$MENACE_RUN" --batch </dev/null
assert_eq "$status:$stdout$stderr" 0:
