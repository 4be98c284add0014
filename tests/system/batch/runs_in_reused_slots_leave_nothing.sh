#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Runs through reused slots leave no process, group, mount, lease or descriptor
#
# security

. "${0%/*}/../../lib/system.sh"

need_root
need_cgroups
check_leaks

# hundreds_of_runs_leave_nothing does this with more.
runs=${runs:-32}
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
			read -r -t "$(scaled 60)" -u 6 || fail "no result $((i + n))"
		done
	done
}
# What it holds of network namespaces and roots: as many are kept as runs were at once, which a busy
# machine decides. Of the places of telemetry, which all supervisors share, it holds those it ever had.
of_the_kept='(^net:|/net/|^socket:|^/$|bpf-map$)'
namespaces()
{
	find "/proc/$batch/fd" -mindepth 1 -printf '%l\n' | grep -c '^net:'
}
state()
{
	find "/proc/$batch/fd" -mindepth 1 -printf '%l\n' | grep -c -v -E "$of_the_kept"
	wc -l <"/proc/$batch/mountinfo"
	wc -w <"/proc/$batch/task/$batch/children"
}
# What it has of the last run goes after that one's result: it has done so when it waits for the next.
is_at_rest()
{
	[ "$(wc -w <"/proc/$batch/task/$batch/children")" -eq 0 ] &&
		grep -q '^State:.S' "/proc/$batch/status"
}
has_no_more()
{
	paste -d ' ' <(state) <(echo "$before") | awk '$1 > $2 { exit 1 }'
}
memory_kib()
{
	awk '/VmRSS/ { print $2 }' "/proc/$batch/status"
}
feed 12
wait_until 30 is_at_rest || fail "it does not come to rest"
before=$(state)
memory=$(memory_kib)
kept=$(namespaces)
sockets=$(find "/proc/$batch/fd" -lname 'socket:*' | wc -l)
feed "$runs"
wait_until 30 has_no_more || fail "descriptors, mounts, children: $(state | xargs), not $(xargs <<<"$before")"
assert_le "$(namespaces)" 5 "network namespaces: its own, and those kept for four at once"
assert_le "$(find "/proc/$batch/fd" -lname '*bpf-map' | wc -l)" $((2 * 128 + 20)) "maps"
assert_le "$(find "/proc/$batch/fd" -lname / | wc -l)" 4 "roots: those kept for four at once"
assert_le "$(find "/proc/$batch/fd" -lname 'socket:*' | wc -l)" $((sockets + 5 - kept)) "sockets"
# A sanitizer keeps what was freed for a while.
[ "$MENACE_SLOWDOWN" -gt 1 ] || assert_le $(($(memory_kib) - memory)) 4096 "KiB more than before"
exec 5>&-
wait $batch
assert_eq $? 125 "exit status"
assert_eq "$(ls "$tmp/w")" ""
