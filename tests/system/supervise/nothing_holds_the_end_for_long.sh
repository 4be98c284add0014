#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Whatever a program leaves, holds open, floods or ignores, the end comes soon after it is due
# lane: soak (bounds on elapsed time)

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/limits.sh"

need_limits

run -t 60 -- sh -c 'sleep 1001 & exit 3'
assert_soon 0
run_helper -t 60 -- hold-pipe daemons 3
assert_soon 0
run_helper -t 60 -- hold-pipe orphans 3
assert_soon 0
run_helper --timeout "$(scaled 60)" --pids 500 -- starve-init 400
assert_ended 7 exited
for what in signals orphans; do
	run_helper --timeout "$(scaled 20)" --pids 200 -- flood-init "$what" 6
	assert_status 7
	assert_soon 1000
done

mkdir -m 777 "$tmp/door"
mkfifo "$tmp/stay"
exec 3<>"$tmp/stay"
"$helpers/hold-pipe" receive "$tmp/door/socket" <"$tmp/stay" >"$tmp/receiver" 3<&- &
at_exit kill "$!"
wait_until 30 grep -q listening "$tmp/receiver" || fail "nobody listens"
run_helper -t 60 -s limits.drain_ms=1s --best-effort workspace-idmap --rw "$tmp/door:/door" -- \
	hold-pipe send /door/socket
assert_soon 1000
mkfifo "$tmp/fifo"
exec 4<>"$tmp/fifo"
run_plain "$MENACE_RUN" -t 60 -o "$result" true <"$tmp/fifo" 4<&-
assert_soon 0

# interrupted GRACE SIGNAL PROGRAM...: told to end once
interrupted()
{
	start -s limits.grace_ms="$1" -t 120 -- "${@:3}"
	wait_for_line ready
	start_clock
	kill "-$2" "$supervisor"
}
interrupted 500 TERM /helpers/hold-pipe deaf
finish
assert_soon 500
interrupted 0 INT /helpers/hold-pipe deaf
finish
assert_soon 0
interrupted 60s TERM sh -c 'echo ready; kill -STOP $$; sleep 1001'
finish
assert_soon 0
interrupted 60s INT /helpers/hold-pipe deaf
# Two that wait to be taken are one.
nap 0.3
lives "$supervisor" || fail "ended at the first"
start_clock
kill -INT "$supervisor"
finish
assert_status 130
assert_soon 0

run --output-limit 0 -- sh -c 'echo; sleep 1001'
assert_reason output_limit
assert_soon 0
run --output-limit 1M -t 60 -- yes
assert_reason output_limit
assert_soon 0
start_clock
"$MENACE_RUN" -t 60 -o "$result" yes 2>"$tmp/stderr" | head -n 1 >"$tmp/stdout"
stop_clock
assert_soon 0
