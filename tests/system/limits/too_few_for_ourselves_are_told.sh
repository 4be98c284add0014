#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# With any number of descriptors a run works, or ends before it began with what could not be had,
# the number and how to raise it; nothing is left behind
#
# security

. "${0%/*}/../../lib/system.sh"

need_root
need_cgroups
check_leaks

# What a sanitizer opens for itself is not ours to tell.
timeout=$(scaled 30)
first=3
[ -z "${ASAN_OPTIONS-}" ] || first=8

# start NUMBER OPTIONS...: with so many descriptors
start()
{
	local number=$1

	shift
	rm -f "$tmp/result"
	(ulimit -n "$number" && exec "$MENACE_RUN" --json "$tmp/result" -t "$timeout" "$@" -- echo ran) \
		</dev/null >"$tmp/stdout" 2>"$tmp/stderr"
	status=$?
	stdout=$(<"$tmp/stdout")
	stderr=$(<"$tmp/stderr")
}

judge()
{
	local number=$1

	if [ "$status" -eq 0 ]; then
		assert_eq "$stdout $(jq -r .reason "$tmp/result")" "ran exited" "with $number"
		worked=$((worked + 1))
		return
	fi
	assert_eq "$status $stdout" "125 " "with $number: $stderr"
	assert_match "$stderr" "Too many open files; no more than $number are allowed here: raise the limit \(ulimit -n\)" \
		"with $number"
	# What, and on which object: never the bare name of a call.
	assert_eq "$(grep -cE '^menace-run: [a-z0-9_]+: Too many' <<<"$stderr")" 0 "with $number: $stderr"
	[ ! -s "$tmp/result" ] ||
		assert_eq "$(jq -r '.reason, (.error.message | test("ulimit -n"))' "$tmp/result" | xargs)" \
			"setup_error true" "result with $number"
	failed=$((failed + 1))
}

worked=0 failed=0
for ((number = first; number <= 64; number++)); do
	start "$number"
	judge "$number"
done
assert_eq "$((worked > 0)) $((failed > 20))" "1 1" "worked $worked, failed $failed times"

worked=0 failed=0
for ((number = 24; number <= 72; number += 3)); do
	start "$number" --net loopback
	judge "$number"
done
assert_eq "$((worked > 0)) $((failed > 0))" "1 1" "with a network worked $worked, failed $failed times"
