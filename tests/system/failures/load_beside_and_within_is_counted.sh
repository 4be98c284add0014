#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# cpu_spike is busy beside the payload, in no group of its; concurrency_spike fills the payload's group up to its limit,
# which the payload then meets; both leave nothing, also when menace-run is killed

. "${0%/*}/../../lib/system.sh"

need_root
need_cgroups
need_system_program python3
check_leaks

failure()
{
	json ".failures[] | select(.mode == \"$1\") | .$2"
}

# begin: a run with this load that waits until its input ends; the load's processes are $load, the payload's first is $init.
mkfifo "$tmp/in"
begin()
{
	"$MENACE_RUN" -q -o "$result" -t "$(scaled 50)" "$@" -- sh -c 'read -r _' <>"$tmp/in" &
	supervisor=$!
}
processes_are_there()
{
	mapfile -t load < <(pgrep -x menace-load -P "$supervisor")
	init=$(pgrep -P "$supervisor" | grep -vxF "$(printf '%s\n' "${load[@]}")")
	is_number "$init" && [ ${#load[@]} -ge 1 ]
}
# 50 ms of processor time
is_busy()
{
	local pid stat sum=0

	for pid in "${load[@]}"; do
		read -r -a stat <"/proc/$pid/stat"
		sum=$((sum + stat[13] + stat[14]))
	done
	[ $sum -ge 5 ]
}

begin --set failure.modes=cpu_spike --set failure.seed=1
wait_until 30 processes_are_there || fail "no load"
wait_until 30 is_busy || fail "the load is idle"
# It is not the payload's.
for pid in "${load[@]}"; do
	assert_eq "$(grep -xF -f "/proc/$init/cgroup" "/proc/$pid/cgroup" | grep /menace/)" "" "groups of both"
done
echo >"$tmp/in"
wait "$supervisor"
assert_eq $? 0 "exit status"
seconds=$(failure cpu_spike opportunities)
assert_ge "$seconds" 1 "seconds that began"
assert_eq "$(failure cpu_spike fired)" "$seconds"
assert_ge "$(failure cpu_spike processes)" ${#load[@]}
assert_ge "$(failure cpu_spike ns)" 40000000
assert_eq "$(json .usage.pids.peak)" 2
run -p '{"CPU_SPIKE": true, "THREAT_INTENSITY": 0}' -- sleep 0.3
assert_ge "$(failure cpu_spike opportunities)" 1
assert_eq "$(failure cpu_spike fired) $(failure cpu_spike ns)" "0 0"

# It makes children until it is refused one: bursts come once a second, and last a moment.
fork='
import os, sys
refused = 0
while not refused and sys.argv[1] == "refused" or sys.argv[1] == "never":
    children = []
    for i in range(15):
        try:
            pid = os.fork()
        except BlockingIOError:
            refused += 1
            continue
        if pid == 0:
            os._exit(0)
        children.append(pid)
    for pid in children: os.waitpid(pid, 0)
    if sys.argv[1] == "never": break
print(refused)'
run --set limits.pids_max=20 -- python3 -c "$fork" never
assert_eq "$stdout" 0 "control"
run -t "$(scaled 50)" --set limits.pids_max=20 --set failure.modes=concurrency_spike \
	-p '{"THREAD_BURST": 40, "ASYNC_TASK_BURST": 40}' -- python3 -c "$fork" refused
assert_status 0
assert_ge "$stdout" 1 "forks of the payload that failed"
bursts=$(failure concurrency_spike fired)
assert_ge "$bursts" 1 "bursts"
assert_eq "$(failure concurrency_spike opportunities)" "$bursts"
assert_eq "$(($(failure concurrency_spike tasks) + $(failure concurrency_spike EAGAIN)))" $((bursts * 80)) "tasks asked for"
assert_ge "$(failure concurrency_spike EAGAIN)" 1
assert_eq "$(json .leftover_killed)" 0
# Its own refusals are no reason of the payload's.
run --set limits.pids_max=20 --set failure.modes=concurrency_spike -- python3 -c 'import time; time.sleep(0.3); exit(3)'
assert_reason exited
run --set failure.modes=concurrency_spike -- sleep 0.5 # between two bursts
assert_ge "$(failure concurrency_spike fired)" 1 "bursts"
assert_eq "$(failure concurrency_spike tasks) $(failure concurrency_spike EAGAIN)" \
	"$(($(failure concurrency_spike fired) * 100)) 0"

"$MENACE_RUN" -q --set failure.modes=cpu_spike,concurrency_spike -- sleep 60 &
supervisor=$!
load_is_there()
{
	pgrep -x menace-load -P "$supervisor" >/dev/null && pgrep -x menace-burst -P "$supervisor" >/dev/null
}
wait_until 10 load_is_there || fail "no load"
kill -KILL "$supervisor"
wait "$supervisor" 2>/dev/null
run -- true # sweeps
