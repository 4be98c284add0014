#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Two supervisors that start runs one after the other, two that each hold one, and cleanups without a pause
# beside them, two at a time: no living run loses anything, and what a killed one left is gone
# security
# lane: soak (starts and cleanups must overlap)

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/docker.sh"
. "$repo/tests/lib/runs.sh"

with_own_leases
need_root
need_cgroups
menace=${MENACE:-${MENACE_RUN%/*}/menace}

# hold N: a run with a child, which both live until they are told to go on.
hold()
{
	mkfifo "$tmp/out$1" "$tmp/go$1"
	"$MENACE_RUN" -q -t "$(scaled 120)" -o "$tmp/held$1.json" -- \
		sh -c 'sleep 1000 & echo; read -r word && kill $! && { wait; echo "$word"; }' <"$tmp/go$1" >"$tmp/out$1" &
	held[$1]=$!
}
hold 1
exec 3>"$tmp/go1" 4<"$tmp/out1"
hold 2
exec 5>"$tmp/go2" 6<"$tmp/out2"
read -r -u 4 _
read -r -u 6 _
"$MENACE_RUN" -q -- sh -c 'sleep 1000 & sleep 1000' &
killed=$!
has_lease()
{
	id=$(run_id_of "$killed") && [ -f "/run/menace/leases/$id" ]
}
wait_until 20 has_lease || fail "no lease of the run that is to be killed"
kill -KILL "$killed"
wait "$killed" 2>/dev/null

# Each has more to start for as long as there were too few cleanups beside it.
for worker in 1 2; do
	for ((n = 0; n < 200; n++)); do
		[ "$n" -lt 25 ] || [ ! -e "$tmp/enough" ] || break
		said=$("$MENACE_RUN" -q -- sh -c "sleep 0.0$((n % 5)) & wait \$! && echo whole $n") ||
			echo "run $n ended with $?"
		[ "$said" = "whole $n" ] || echo "run $n said '$said'"
	done >"$tmp/worker.$worker" 2>&1 &
	workers[worker]=$!
done
cleanups=0
while kill -0 "${workers[1]}" 2>/dev/null || kill -0 "${workers[2]}" 2>/dev/null; do
	"$menace" cleanup --json >"$tmp/cleaned.1" 2>"$tmp/said.1" &
	"$menace" purge-stale --json >"$tmp/cleaned.2" 2>"$tmp/said.2" || fail "purge-stale: $(cat "$tmp/said.2")"
	wait $! || fail "cleanup: $(cat "$tmp/said.1")"
	cleanups=$((cleanups + 2))
	[ "$cleanups" -lt 4 ] || : >"$tmp/enough"
done
wait "${workers[@]}"
assert_eq "$(cat "$tmp"/worker.*)" "" "complaints"
assert_ge "$cleanups" 4 "cleanups"
assert_absent "/run/menace/leases/$id"
assert_eq "$(find /sys/fs/cgroup -name "$id" 2>/dev/null)" "" "groups of the one that was killed"

for n in 1 2; do
	echo "untouched $n" >&$((1 + 2 * n))
	wait "${held[n]}"
	assert_eq "$?" 0 "exit status of the held run $n"
	assert_eq "$(cat <&$((2 + 2 * n)))" "untouched $n" "its output"
	assert_eq "$(jq -r '[.reason, .leftover_killed] | map(tostring) | join(" ")' "$tmp/held$n.json")" "exited 0" "its end"
done
assert_eq "$(list_stale_leases)" "" "leases of the dead"
