#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# cpu_spike is busy for a fifth of each second, beside the payload, which waits as long; concurrency_spike fills the
# payload's group up to its limit once a second, with nearly all of its tasks at one time
# lane: soak (measures processor time and waits for times to pass)

. "${0%/*}/../../lib/system.sh"

need_root
need_cgroups
need_system_program python3

failure()
{
	json ".failures[] | select(.mode == \"$1\") | .$2"
}

run --set failure.modes=cpu_spike --set failure.seed=1 -- sleep 3.3
assert_status 0
seconds=$(failure cpu_spike opportunities)
assert_ge "$seconds" 2 "seconds that began"
assert_eq "$(failure cpu_spike fired)" "$seconds"
assert_ge "$(failure cpu_spike processes)" 1
assert_le "$(failure cpu_spike ns)" $(($(failure cpu_spike processes) * seconds * 220000000)) "CPU time of 200 ms each"
assert_ge "$(failure cpu_spike ns)" 40000000
# It is not the payload's.
assert_le "$(json .usage.cpu.usage_us)" "$(scaled 300000)"
assert_eq "$(json .usage.pids.peak)" 2
run -p '{"CPU_SPIKE": true, "THREAT_INTENSITY": 0}' -- sleep 3.1
assert_ge "$(failure cpu_spike opportunities)" 2
assert_eq "$(failure cpu_spike fired) $(failure cpu_spike ns)" "0 0"

# One that wants every processor all the time waits for each as long as somebody else has it: what was taken
# is what it misses, but for what was taken before it began: no more than one burst, or where programs start
# slowly most of it.  A busy host may let it begin later than that, or end it later.
cat >"$tmp/wait.py" <<'END'
import os, time
def waited():
    return int(open("/proc/self/schedstat").read().split()[1])
readers = []
end = time.monotonic() + 4.2
for cpu in os.sched_getaffinity(0):
    r, w = os.pipe()
    if os.fork() == 0:
        os.sched_setaffinity(0, [cpu])
        before = waited()
        while time.monotonic() < end: pass
        os.write(w, b"%d" % (waited() - before))
        os._exit(0)
    os.close(w)
    readers.append(os.fdopen(r))
print(sum(int(r.read()) for r in readers))
END
waits()
{
	run -t "$(scaled 30)" --ro "$tmp/wait.py:/wait.py" --set failure.modes=cpu_spike --set failure.seed=1 -- python3 /wait.py
	assert_status 0
	taken=$(failure cpu_spike ns)
	missed=$((taken - $(failure cpu_spike processes) * 220000000))
	[ "$MENACE_SLOWDOWN" -eq 1 ] || missed=$((taken / 4))
	[ "$(failure cpu_spike fired)" -ge 4 ] && [ "$stdout" -ge "$missed" ]
}
patiently waits || fail "the payload waited $stdout ns, and missed $missed"

# At most moments it has no child, and then wants most of what it may have.
fork='
import os, sys, time
refused = 0
end = time.monotonic() + float(sys.argv[1]) / 1000
while time.monotonic() < end:
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
    time.sleep(0.02)
print(refused)'
run --set limits.pids_max=20 -- python3 -c "$fork" "$(scaled 1700)"
assert_eq "$stdout" 0 "control"
# Bursts come once a second: on a busy host they may miss all the moments at which it makes some.
for ms in 1700 6000 20000; do
	run -t "$(scaled 60)" --set limits.pids_max=20 --set failure.modes=concurrency_spike \
		-p '{"THREAD_BURST": 40, "ASYNC_TASK_BURST": 40}' -- python3 -c "$fork" "$(scaled $ms)"
	assert_status 0
	bursts=$(failure concurrency_spike fired)
	[ "$stdout" -lt 1 ] || [ "$bursts" -lt 2 ] || break
done
assert_ge "$stdout" 1 "forks of the payload that failed"
assert_ge "$bursts" 2 "bursts"
assert_eq "$(failure concurrency_spike opportunities)" "$bursts"
assert_eq "$(($(failure concurrency_spike tasks) + $(failure concurrency_spike EAGAIN)))" $((bursts * 80)) "tasks asked for"
assert_ge "$(failure concurrency_spike EAGAIN)" $((bursts * 60))
assert_eq "$(json .leftover_killed)" 0
run --set failure.modes=concurrency_spike -- sleep 2.5 # between two bursts
assert_eq "$(failure concurrency_spike tasks) $(failure concurrency_spike EAGAIN)" \
	"$(($(failure concurrency_spike fired) * 100)) 0"
assert_ge "$(json .usage.pids.peak)" 50
