#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# The program has ended; its bytes wait for the reader until the caller says to end
# security

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/limits.sh"

need_limits
check_leaks

mkfifo "$tmp/fifo"
exec 3<>"$tmp/fifo"
has_written()
{
	read -r -t 0 -u 3
}
tree_is_gone()
{
	has_written && ! pgrep -P "$supervisor" >/dev/null
}
"$MENACE_RUN" -t 2h -o "$result" head -c 100000 /dev/zero >"$tmp/fifo" 2>"$tmp/stderr" 3<&- &
supervisor=$!
wait_until 20 tree_is_gone || fail "the payload lives on"
lives "$supervisor" || fail "the supervisor has dropped what nobody read yet"
kill -TERM "$supervisor"
wait "$supervisor"
assert_eq $? 125 "exit status"
assert_reason exited
assert_eq "$(json .stdout.truncated)" true "whether it is whole"
assert_contains "$(cat "$tmp/stderr")" "nobody reads what the program writes: 34464 bytes of it are dropped"
