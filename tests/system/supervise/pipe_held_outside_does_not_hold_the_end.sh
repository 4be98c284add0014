#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# The program's pipe was passed out through a socket to a process that is none of ours

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/limits.sh"

need_limits
check_leaks

mkdir -m 777 "$tmp/door"
mkfifo "$tmp/stay"
exec 3<>"$tmp/stay"
"$helpers/hold-pipe" receive "$tmp/door/socket" <"$tmp/stay" >"$tmp/receiver" 3<&- &
receiver=$!
at_exit kill "$receiver"
wait_until 30 grep -q listening "$tmp/receiver" || fail "nobody listens"
run_helper -t 60 --best-effort workspace-idmap --rw "$tmp/door:/door" -- hold-pipe send /door/socket
assert_ended 0 exited
assert_eq "$stdout" sent
grep -q received "$tmp/receiver" || fail "the pipe was not passed out"
lives "$receiver" || fail "the receiver is gone"
