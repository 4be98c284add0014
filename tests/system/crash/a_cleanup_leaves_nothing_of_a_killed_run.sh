#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# menace-run is killed in the middle of a run with a workspace, mocks and a shaped link: after menace cleanup,
# and no start in between, no process of it is there, no control group, mount, network namespace or queue of one
# security
# kernel

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/docker.sh"
. "$repo/tests/lib/runs.sh"
. "$repo/tests/lib/link.sh"

with_own_network
with_own_leases
need_root
need_cgroups
need_program tc nsenter
menace=${MENACE:-${MENACE_RUN%/*}/menace}

run -q --net loopback --set net.rate=50mbit -- true # what stays of any first run
tc qdisc >"$tmp/queues"
awk '{ print $3, $4, $5 }' /proc/self/mountinfo >"$tmp/mounts"
mkdir "$tmp/w"
echo kept >"$tmp/w/file"
mkfifo "$tmp/ready"
"$MENACE_RUN" -q --workspace "$tmp/w" --net stub --mock api.example=body:x --set net.loss_percent=1 \
	--set net.rate=50mbit --tmpfs /scratch:1M -- sh -c '(setsid sleep 1000 &); echo >file; echo; sleep 1000' >"$tmp/ready" &
supervisor=$!
read -r _ <"$tmp/ready"
id=$(run_id_of "$supervisor") || fail "no run of process $supervisor"

mapfile -t pids < <(grep -l -s "/menace/$id" /proc/[0-9]*/cgroup | sed 's|/proc/\([0-9]*\)/.*|\1|')
inside=${pids[-1]}
mapfile -t -O ${#pids[@]} pids < <(pgrep -P "$supervisor")
assert_ge ${#pids[@]} 4 "processes"
netns=$(readlink "/proc/$inside/ns/net")
assert_ne "$netns" "$(readlink /proc/self/ns/net)" "its network"
assert_contains "$(nsenter --net="/proc/$inside/ns/net" tc qdisc)" "50Mbit" "queues of its link"
assert_ge "$(find /sys/fs/cgroup -name "$id" 2>/dev/null | wc -l)" 1 "its groups"

kill -KILL "$supervisor"
wait "$supervisor" 2>/dev/null
[ -f "/run/menace/leases/$id" ] || fail "the killed run left no lease: nothing to be removed"
"$menace" cleanup --json >"$tmp/cleaned" || fail "cleanup: $?"
assert_eq "$(gojq .leases "$tmp/cleaned")" 1 "leases removed"
assert_absent "/run/menace/leases/$id"
assert_eq "$(find /sys/fs/cgroup -name "$id" 2>/dev/null)" "" "groups"
for pid in "${pids[@]}"; do
	state=$(sed 's/.*) \(.\).*/\1/' "/proc/$pid/stat" 2>/dev/null)
	[ -z "$state" ] || [ "$state" = Z ] ||
		fail "process $pid is there: $(tr '\0' ' ' <"/proc/$pid/cmdline")"
done
assert_not_contains "$(readlink /proc/[0-9]*/ns/net /proc/[0-9]*/fd/* 2>/dev/null)" "$netns" "network namespaces"
awk '{ print $3, $4, $5 }' /proc/self/mountinfo | diff "$tmp/mounts" - || fail "mounts are left"
tc qdisc | diff "$tmp/queues" - || fail "queues are left"
assert_eq "$(cat "$tmp/w/file")" kept "the workspace"
