#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# The results are larger than the pipe, and nobody reads it: the batch waits, without turning, until it is told
# to end
# security

. "${0%/*}/../../lib/system.sh"

need_root
need_cgroups
check_leaks

for ((i = 0; i < 4; i++)); do
	echo '{"schema": "menace.spec/1", "program": ["sh", "-c", "yes xxxxxxxxx | head -c 100000"]}'
done >"$tmp/specs"
mkfifo "$tmp/fifo"
exec 3<>"$tmp/fifo"
no_run_lives()
{
	read -r -t 0 -u 3 && ! pgrep -P "$batch" >/dev/null && is_asleep
}
# Who waits for an event sleeps; one that turns is on a processor, or ready for one.
is_asleep()
{
	[ "$(sed 's/.*) //; s/ .*//' "/proc/$batch/stat")" = S ]
}
has_ended()
{
	[ ! -e "/proc/$batch" ] || [ "$(sed 's/.*) //; s/ .*//' "/proc/$batch/stat")" = Z ]
}
for signals in 1 3; do
	"$MENACE_RUN" --batch -j 4 <"$tmp/specs" >"$tmp/fifo" 2>"$tmp/stderr" 3<&- &
	batch=$!
	wait_until 30 no_run_lives || fail "the batch does not wait for its reader"
	for ((i = 0; i < signals; i++)); do
		has_ended || kill -TERM "$batch"
	done
	wait_until 30 has_ended || fail "$signals signals did not end it"
	wait "$batch"
	assert_eq $? 143 "exit status"
	assert_contains "$(cat "$tmp/stderr")" "bytes of results are dropped"
done
