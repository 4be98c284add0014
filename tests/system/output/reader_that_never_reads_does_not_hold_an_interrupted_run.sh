#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# The tree is killed at its time; the bytes wait for the reader until the caller says to end
# serial
# any kernel

. "$(dirname "$0")/../../lib/system.sh"
. "$repo/tests/lib/limits.sh"

need_limits
check_leaks

mkfifo "$tmp/fifo"
exec 3<>"$tmp/fifo"
"$MENACE_RUN" -t 500ms -o "$result" yes >"$tmp/fifo" 2>"$tmp/stderr" 3<&- &
supervisor=$!
payload_lives()
{
	grep -q -s -x yes /proc/[0-9]*/comm
}
payload_is_gone()
{
	! payload_lives
}
wait_until 5 payload_lives || fail "no payload"
wait_until 5 payload_is_gone || fail "the payload lives on"
[ -d "/proc/$supervisor" ] || fail "the supervisor has dropped what nobody read yet"
start_clock
kill -TERM "$supervisor"
wait "$supervisor"
assert_eq $? 124 "exit status"
stop_clock
assert_soon 0
assert_reason wall_timeout
