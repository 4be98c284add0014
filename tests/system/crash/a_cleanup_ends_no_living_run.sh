#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# cleanup and purge-stale beside two runs, of which the supervisor of one is stopped: neither loses anything,
# and what a killed one left is gone
# security

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
	"$MENACE_RUN" -q -t "$(scaled 60)" -o "$tmp/held$1.json" -- \
		sh -c 'sleep 1000 & echo; read -r word && kill $! && { wait; echo "$word"; }' <"$tmp/go$1" >"$tmp/out$1" &
	held[$1]=$!
}
hold 1
exec 3>"$tmp/go1" 4<"$tmp/out1"
hold 2
exec 5>"$tmp/go2" 6<"$tmp/out2"
read -r -u 4 _
read -r -u 6 _
kill -STOP "${held[2]}"
mkfifo "$tmp/ready"
for command in cleanup purge-stale; do
	"$MENACE_RUN" -q -- sh -c 'sleep 1000 & echo; sleep 1000' >"$tmp/ready" &
	killed=$!
	read -r _ <"$tmp/ready"
	id=$(run_id_of "$killed") || fail "no run of process $killed"
	[ -f "/run/menace/leases/$id" ] || fail "no lease of the run that is to be killed"
	kill -KILL "$killed"
	wait "$killed" 2>/dev/null
	"$menace" "$command" --json >"$tmp/cleaned" || fail "$command: status $?"
	assert_eq "$(gojq .leases "$tmp/cleaned")" 1 "leases removed by $command"
	assert_absent "/run/menace/leases/$id"
	assert_eq "$(find /sys/fs/cgroup -name "$id" 2>/dev/null)" "" "groups of the one that was killed"
done
kill -CONT "${held[2]}"

for n in 1 2; do
	echo "untouched $n" >&$((1 + 2 * n))
	wait "${held[n]}"
	assert_eq "$?" 0 "exit status of the held run $n"
	assert_eq "$(cat <&$((2 + 2 * n)))" "untouched $n" "its output"
	assert_eq "$(gojq -r '"\(.reason) \(.leftover_killed)"' "$tmp/held$n.json")" "exited 0" "its end"
done
assert_eq "$(list_stale_leases)" "" "leases of the dead"
