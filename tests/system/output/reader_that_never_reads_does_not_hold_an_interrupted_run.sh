#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# The tree is killed at its time; the bytes wait for the reader until the caller says to end

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
has_written_or_ended()
{
	has_written || ! lives "$supervisor"
}
tree_is_gone()
{
	! pgrep -P "$supervisor" >/dev/null
}
for limit in "${time_limits[@]}"; do
	"$MENACE_RUN" -t "${limit}ms" -o "$result" yes >"$tmp/fifo" 2>"$tmp/stderr" 3<&- &
	supervisor=$!
	wait_until 30 has_written_or_ended
	! has_written || break
done
has_written || fail "no payload"
wait_until 20 tree_is_gone || fail "the payload lives on"
lives "$supervisor" || fail "the supervisor has dropped what nobody read yet"
kill -TERM "$supervisor"
wait "$supervisor"
assert_eq $? 124 "exit status"
assert_reason wall_timeout
