#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# With the pipe held outside the end comes after the drain, not before

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/limits.sh"

need_limits
check_leaks

mkdir -m 777 "$tmp/door"
mkfifo "$tmp/stay"
exec 3<>"$tmp/stay"
"$helpers/hold-pipe" receive "$tmp/door/socket" <"$tmp/stay" >"$tmp/receiver" 3<&- &
at_exit kill "$!"
wait_until 30 grep -q listening "$tmp/receiver" || fail "nobody listens"
run_helper -t 60 -s limits.drain_ms=1s --best-effort workspace-idmap --rw "$tmp/door:/door" -- \
	hold-pipe send /door/socket
assert_ended 0 exited
assert_ge "$(json .timings.teardown_us)" 1000000 "microseconds of the end"
