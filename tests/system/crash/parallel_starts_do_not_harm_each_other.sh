#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Eight menace-run at a time, each sweeping at its start, while some are killed:
# no living run loses anything, and afterwards nothing is left
# security
# lane: soak (starts and kills must overlap)

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/runs.sh"

need_root
need_cgroups
check_leaks

runs=$((MENACE_SLOWDOWN > 1 ? 40 : 200))

# One run whose every process must live to its end; every fifth is killed instead.
one()
{
	local n=$1 out pid

	if ((n % 5 == 0)); then
		"$MENACE_RUN" -q -- sleep 1000 &
		pid=$!
		sleep "0.0$((n % 4))$((n % 10))"
		kill -KILL $pid
		wait $pid 2>/dev/null
		return
	fi
	out=$("$MENACE_RUN" -q -- sh -c "sleep 0.0$((n % 5)) & wait \$! && echo whole $n") ||
		echo "run $n ended with $?"
	[ "$out" = "whole $n" ] || echo "run $n said '$out'"
}

for ((worker = 0; worker < 8; worker++)); do
	for ((n = worker; n < runs; n += 8)); do
		one $n
	done >"$tmp/worker.$worker" 2>&1 &
	workers[worker]=$!
done
wait "${workers[@]}"
assert_eq "$(cat "$tmp"/worker.*)" "" "complaints"
run -- true
assert_status 0
assert_eq "$(list_stale_leases)" "" "leases of the dead"
