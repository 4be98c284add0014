#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# A batch that may open fewer files than its runs need at once runs fewer at once, says so, and fails
# none of them: also those that take more files than the rest are done when others have ended
# security

. "${0%/*}/../../lib/system.sh"

need_root
need_cgroups
check_leaks

# batch NUMBER LINES OPTION...: so many specs, with so many open files.
batch()
{
	local number=$1 lines=$2

	shift 2
	for ((i = 0; i < lines; i++)); do
		printf '{"schema": "menace.spec/1", "program": ["echo", "%s"]}\n' "$i"
	done >"$tmp/specs"
	(ulimit -n "$number" && exec "$MENACE_RUN" --batch -j 64 -t "$(scaled 60)" "$@") \
		<"$tmp/specs" >"$tmp/stdout" 2>"$tmp/stderr"
	assert_eq $? 0 "exit status: $(<"$tmp/stderr")"
	read_output
	assert_eq "$(gojq -r '"\(.reason) \(.error)"' "$tmp/stdout" | sort | uniq -c | tr -s ' ')" \
		" $lines exited null" "what $lines runs came to with $number: $stderr"
	assert_eq "$(gojq -r '.stdout.text' "$tmp/stdout" | sort -n | uniq | grep -c .)" "$lines" "what they said"
	assert_eq "$(gojq -r 'select(.usage.memory.peak_bytes == null) | .run_id' "$tmp/stdout")" "" "uncounted runs"
	assert_not_contains "$stderr" "kill the control group"
	assert_match "$stderr" "64 runs at once may need [0-9]+ open files, and the hard limit is $number: .* no more than [0-9]+ are"
}

batch 1024 64
batch 128 16
# A network of canned answers takes more than the bound reckons with.
batch 200 16 --net stub --explain-denials
