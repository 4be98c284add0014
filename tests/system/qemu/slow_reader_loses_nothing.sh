#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# The run has ended long before its last bytes are read, and so has its machine, or both are only
# about to: the bytes wait, and the result behind them, until the caller says to end.
# lane: machine
. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/qemu.sh"
. "$repo/tests/lib/vm_disk.sh"

need_virtiofsd
check_leaks
fake_kernel

# late WHAT SIZE: with that QEMU the run writes so many bytes, which are read after longer than anything else
# is waited for; they are in $tmp/WHAT/got then, and the exit status in $tmp/WHAT/status.
late()
{
	fake_run "$1" "$2"
	set -- "$tmp/$1"
	"$MENACE_RUN" -q --backend qemu -o "$1/out.json" "${options[@]}" -- true 2>"$1/stderr" |
		(sleep "$(scaled 8)" && cat) >"$1/got"
	echo "${PIPESTATUS[0]}" >"$1/status"
}

# What fits between us and the reader; then more, so that the result is still on its way when QEMU ends.
options=()
late pours 150000 &
late spills 330000 &
options=(--set "sandbox.vm_image=$tmp/answers")
disk answers
late tells 150000 &
late blurts 330000 &
wait
for what in pours spills tells blurts; do
	assert_eq "$(cat "$tmp/$what/status")" 0 "exit status of $what: $(cat "$tmp/$what/stderr")"
	cmp "$tmp/$what/output" "$tmp/$what/got" || fail "what was passed on by $what differs"
	assert_eq "$(result=$tmp/$what/out.json json .reason)" exited "reason of $what"
done

# Nobody ever reads it: a signal ends that.
# is_gone WHAT
is_gone()
{
	! grep -q -s "^qemu-$1" /proc/[0-9]*/comm
}
# never WHAT
never()
{
	fake_run "$1" 330000
	mkfifo "$tmp/$1/fifo"
	exec 3<>"$tmp/$1/fifo"
	"$MENACE_RUN" -q --backend qemu -o "$result" "${@:2}" -- true >"$tmp/$1/fifo" 2>"$tmp/stderr" 3<&- &
	supervisor=$!
	# It has begun when there is something to read.
	dd bs=1 count=1 of="$tmp/first" <&3 2>"$tmp/dd" || fail "nothing comes: $(cat "$tmp/dd")"
	wait_until 60 is_gone "$1" || fail "the machine of $1 does not end"
	[ -d "/proc/$supervisor" ] || fail "what nobody has read yet was dropped: $1"
	kill -TERM "$supervisor"
	wait "$supervisor"
	assert_eq $? 0 "exit status of $1: $(cat "$tmp/stderr")"
	assert_eq "$(json .reason)" exited "reason of $1"
}
never spills
never blurts --set "sandbox.vm_image=$tmp/answers"

# A limit of time is not for who reads: what came before it is told and passed on.
fake_run floods 1
"$MENACE_RUN" -q --backend qemu -o "$result" --timeout 1s -- true 2>"$tmp/stderr" |
	(sleep "$(scaled 8)" && cat) >"$tmp/got"
assert_eq "${PIPESTATUS[0]}" 124 "exit status: $(cat "$tmp/stderr")"
assert_eq "$(json .stdout.bytes)" "$(stat -c %s "$tmp/got")" "bytes"
