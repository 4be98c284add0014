#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# With any number of descriptors a run works, or ends before it began with what could not be had,
# the number and how to raise it; nothing is left behind
# security

. "${0%/*}/../../lib/system.sh"

need_root
need_cgroups
check_leaks

# What a sanitizer opens for itself is not ours to tell.
timeout=$(scaled 30)
first=3
[ -z "${ASAN_OPTIONS-}" ] || first=8

# with NUMBER OPTION...: with so many descriptors; what is to be true of the result is judged for all at the end.
worked=0 failed=0 results=()
with()
{
	local number=$1 line

	shift
	(ulimit -n "$number" && exec "$MENACE_RUN" --json "$tmp/result.$number" -t "$timeout" "$@" -- echo ran) \
		</dev/null >"$tmp/stdout" 2>"$tmp/stderr"
	status=$?
	read_output
	[ ! -s "$tmp/result.$number" ] || results+=("$tmp/result.$number")
	if [ "$status" -eq 0 ]; then
		assert_eq "$stdout" ran "with $number"
		worked=$((worked + 1))
		return
	fi
	assert_eq "$status $stdout" "125 " "with $number: $stderr"
	assert_match "$stderr" "Too many open files; no more than $number are allowed here: raise the limit \(ulimit -n\)" \
		"with $number"
	# What, and on which object: never the bare name of a call.
	while IFS= read -r line; do
		assert_no_match "$line" '^menace-run: [a-z0-9_]+: Too many' "with $number: $stderr"
	done <<<"$stderr"
	failed=$((failed + 1))
}

# judge AT_LEAST: so many failed, and some worked; each result says the same.
judge()
{
	assert_eq "$((worked > 0)) $((failed >= $1))" "1 1" "worked $worked, failed $failed times"
	assert_eq "$(gojq -s "[.[] | select(.reason == \"exited\")] | length" "${results[@]}")" "$worked" "results of those that worked"
	assert_eq "$(gojq -c 'select(.reason != "exited" and (.reason != "setup_error" or (.error.message | test("ulimit -n") | not)))' \
		"${results[@]}")" "" "results that say something else"
	worked=0 failed=0 results=()
	rm -f "$tmp"/result.*
}

for ((number = first; number <= 64; number++)); do
	with "$number"
done
judge 21

for ((number = 24; number <= 72; number += 3)); do
	with "$number" --net loopback
done
judge 1
