#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# A reader that takes nothing does not keep a run beyond its time, whether the program was killed there or had
# ended before: the rest is dropped, which is said
# security

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/limits.sh"

need_limits
check_leaks

mkfifo "$tmp/fifo"
exec 3<>"$tmp/fifo"
ends_at_its_time()
{
	status=0
	# shellcheck disable=SC2034 # of assert_status
	"$MENACE_RUN" -t 1 -o "$result" "$@" >"$tmp/fifo" 2>"$tmp/stderr" 3<&- || status=$?
	assert_status 124
	assert_reason wall_timeout
	assert_eq "$(json .stdout.truncated)" true "whether it is whole"
	assert_contains "$(cat "$tmp/stderr")" "nobody reads what the program writes: "
}
ends_at_its_time yes
# The pipe is full by now.
ends_at_its_time echo hi
assert_eq "$(json .exit.code)" 0 "status of the program itself"
assert_contains "$(cat "$tmp/stderr")" ": 3 bytes of it are dropped"
