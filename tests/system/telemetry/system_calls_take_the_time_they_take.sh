#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# The time that system calls took is that of the calls, not more: of those that sleep, of those that do not, and of a run in the
# slot of one that slept
#
# lane: soak (bounds times of calls)

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/telemetry.sh"

need_telemetry
need_system_program python3
code='import os, select, signal, time
for i in range(4): select.select([], [], [], 0.08)
for i in range(1000): os.getppid()
signal.signal(signal.SIGALRM, lambda *a: None)
signal.setitimer(signal.ITIMER_REAL, 0.05)
time.sleep(0.1)
pid = os.fork()
if pid == 0:
    os._exit(0)
os.wait()
os.spawnv(os.P_WAIT, "/usr/bin/unshare", ["unshare", "-U", "true"])'
took() { json "[.telemetry.syscalls[] | select($1) | .total_ns] | add"; }
calls() { json "[.telemetry.syscalls[] | select($1) | .count] | add"; }
# 1: they took longer, as one does that waits in a call for the processor of a busy machine.
calls_are_timed()
{
	run -q -t "$(scaled 30)" --telemetry default,+syscalls,+syscall_times --lang python -c "$code"
	assert_status 0
	slept=$(took '.name == "clock_nanosleep" or .name == "nanosleep" or .name == "select" or .name == "pselect6"')
	assert_ge "$slept" 300000000 "nanoseconds asleep"
	assert_ge "$(took '.name == "getppid"')" 1000 "nanoseconds of a thousand calls"
	[ "$slept" -le "$(scaled 2000000000)" ] && [ "$(took '.name == "getppid"')" -le "$(scaled 50000000)" ]
}
patiently calls_are_timed || fail "$slept nanoseconds asleep, $(took '.name == "getppid"') in a thousand calls"

# The same slot again: nothing of the run before.
afterwards()
{
	run -q --telemetry syscalls -- true
	assert_eq "$(calls '.name == "getppid"')" null "calls of getppid"
	[ "$(json '[.telemetry.syscalls[].total_ns] | add')" -le "$(scaled 200000000)" ]
}
patiently afterwards || fail "nothing sleeps, and calls took $(json '[.telemetry.syscalls[].total_ns] | add') nanoseconds"
