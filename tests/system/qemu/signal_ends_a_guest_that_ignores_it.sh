#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# A guest that does not do what a signal asks for goes with its machine: at the end of grace, with the second
# signal, or when its time is over, whichever comes first; the status tells the signal.
# lane: machine
. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/qemu.sh"

need_virtiofsd
check_leaks
fake_kernel
MENACE_QEMU_BOOT_TIMEOUT=45s
export MENACE_QEMU_BOOT_TIMEOUT

# begin OPTION...: its process is $supervisor.
begin()
{
	: >"$tmp/stdout"
	env --default-signal=INT "$MENACE_RUN" -q --backend qemu -o "$result" "$@" -- true >"$tmp/stdout" 2>"$tmp/stderr" &
	supervisor=$!
}

# ends STATUS REASON
ends()
{
	wait "$supervisor"
	assert_eq $? "$1" "exit status: $(cat "$tmp/stderr")"
	assert_eq "$(json .reason)" "$2" "reason"
	assert_eq "$(json .exit.status)" "$1" "exit status in the result"
}

at_work()
{
	grep -q 'at work' "$tmp/stdout"
}

fake_qemu works
begin --set limits.grace_ms=1
wait_until 60 at_work || fail "nothing comes: $(cat "$tmp/stderr")"
kill -TERM "$supervisor"
ends 143 killed_by_user

# The first says what for, the second that it is to be now.
begin --set limits.grace_ms=60000
wait_until 60 at_work || fail "nothing comes: $(cat "$tmp/stderr")"
kill -INT "$supervisor"
kill -TERM "$supervisor"
ends 130 killed_by_user

# Grace is no longer than the run's own time.
begin --set limits.grace_ms=60000 --timeout 1s
wait_until 60 at_work || fail "nothing comes: $(cat "$tmp/stderr")"
kill -TERM "$supervisor"
before=$(now_ms)
ends 124 wall_timeout
assert_le $(($(now_ms) - before)) "$(scaled 30000)" "time"

# Before anything has begun there is nothing to be asked.
fake_qemu hangs
is_there()
{
	grep -q -s "^qemu-hangs" /proc/[0-9]*/comm
}
begin
wait_until 60 is_there || fail "no machine comes: $(cat "$tmp/stderr")"
kill -TERM "$supervisor"
ends 143 killed_by_user
assert_no_machine hangs
