#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Three hundred runs through reused slots leave no process, group, mount, lease
# or descriptor
# serial

. "$(dirname "$0")/../../lib/system.sh"

need_root
need_cgroups
check_leaks

runs=$((MENACE_SLOWDOWN > 1 ? 60 : 300))
mkdir "$tmp/w"
mkfifo "$tmp/in" "$tmp/out"
"$MENACE_RUN" --batch -j 4 <"$tmp/in" >"$tmp/out" &
batch=$!
exec 5>"$tmp/in" 6<"$tmp/out"

# feed N: and wait for their results.
feed()
{
	local i n

	for ((i = 0; i < $1; i += 4)); do
		printf '{"schema": "menace.spec/1", "program": ["true"]}\n' >&5
		printf '{"schema": "menace.spec/1", "program": ["sh", "-c", "(sleep 1000 &)"]}\n' >&5
		printf '{"schema": "menace.spec/1", "program": ["no-such-program"]}\n' >&5
		printf '{"schema": "menace.spec/1", "program": ["sh", "-c", "echo > f"], "sandbox": {"workspace": "%s"}}\n' "$tmp/w" >&5
		for n in 1 2 3 4; do
			read -r -t "$(scaled 20)" -u 6 || fail "no result $((i + n))"
		done
	done
}
state()
{
	find "/proc/$batch/fd" -mindepth 1 | wc -l
	# A sanitizer keeps what was freed for a while.
	[ "$MENACE_SLOWDOWN" -gt 1 ] || awk '/VmRSS/ { print int($2 / 4096) }' "/proc/$batch/status"
	wc -l <"/proc/$batch/mountinfo"
	wc -w <"/proc/$batch/task/$batch/children"
}
feed 20
before=$(state)
feed "$runs"
assert_eq "$(state)" "$before" "descriptors, memory in 4 MiB, mounts, children"
exec 5>&-
wait $batch
assert_eq $? 125 "exit status"
assert_eq "$(ls "$tmp/w")" ""
