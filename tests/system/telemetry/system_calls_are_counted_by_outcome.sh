#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# At the level syscalls each call that returned is counted by its outcome, with the time that it took, for
# that run alone, and nothing stays attached
#
# kernel

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/telemetry.sh"

need_telemetry
need_system_program python3
code='import os
for i in range(1000): os.getppid()
for i in range(77):
    try: os.stat("/no/such/file")
    except OSError: pass'
run -q --telemetry default,+syscalls --lang python -c "$code"
assert_status 0
calls() { json "[.telemetry.syscalls[] | select($1) | .count] | add"; }
assert_eq "$(calls '.name == "getppid" and .errno == 0')" 1000 "calls of getppid"
assert_ge "$(calls '(.name == "newfstatat" or .name == "stat") and .errno == 2')" 77 "files that are not there"
assert_eq "$(json .telemetry.complete)" true complete
assert_books

# What only counts tells no times.
assert_eq "$(json '[.telemetry.syscalls[].total_ns] | unique | tostring')" "[null]" "times"
assert_eq "$(json '[.telemetry.histograms[].name] | tostring')" '["cpu_run","cpu_wait"]' "distributions"

# Times: of what waits, of what does not, and none of what the filter answers; one that a signal
# comes into, and the return to it, which is a call without a number of its own.
# select() waits for as long as it says; sleep() until a moment, which a slow machine is nearer to.
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
run -q -t "$(scaled 30)" --telemetry default,+syscalls,+syscall_times --lang python -c "$code"
assert_status 0
assert_ge "$(took '.name == "clock_nanosleep" or .name == "nanosleep" or .name == "select" or .name == "pselect6"')" 300000000 \
	"nanoseconds asleep"
assert_ge "$(took '.name == "getppid"')" 1000 "nanoseconds of a thousand calls"
assert_eq "$(json '[.telemetry.syscalls[] | select(.name == "unshare" and .errno == 1) | [.count, .total_ns]] | tostring')" \
	"[[1,null]]" "what the filter answered"
assert_eq "$(calls '.name == "rt_sigreturn"')" 1 "returns from a signal"
assert_eq "$(calls '.name == "511"')" null "calls without a number"
timed=$(json '[.telemetry.histograms[] | select(.name == "syscall").buckets[].count] | add')
all=$(calls true)
assert_ge "$timed" $((all * 95 / 100)) "calls in the distribution, of all"
[ "$timed" -lt "$all" ] || fail "$timed of $all calls are in the distribution, also what the filter answered"
assert_ge "$(json '[.telemetry.histograms[] | select(.name == "syscall").buckets[] | select(.bucket >= 15) | .count] | add')" \
	4 "calls of 32 ms and more"
assert_eq "$(json .telemetry.complete)" true complete
assert_books

# The same slot again: nothing of the run before.
run -q --telemetry syscalls -- true
assert_eq "$(calls '.name == "getppid"')" null "calls of the run before"
run -q -- true
assert_eq "$(json .telemetry.syscalls)" null "without the level"
