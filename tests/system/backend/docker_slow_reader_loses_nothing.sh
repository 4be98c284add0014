#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# The container has ended long before its last bytes are read: they wait, until the caller says to end
#
# lane: engine

. "${0%/*}/../../lib/system.sh"
. "${0%/*}/../../lib/docker.sh"

need_engine
need_program jq unshare
with_own_leases
start_engine

# late NAME SECONDS OPTION... -- PROGRAM...: its output in $tmp/NAME, read so long after it was started.
late()
{
	local name=$1 seconds=$2

	shift 2
	"$MENACE_RUN" -q --backend docker -o "$tmp/$name.result" "$@" 2>"$tmp/$name.stderr" | (sleep "$seconds" && cat) >"$tmp/$name"
	return "${PIPESTATUS[0]}"
}

# More than the pipe to the reader, the engine's connection and what is read at a time hold together;
# the reader begins later than an engine is waited for.
late numbers 12 -- seq 300000 &
numbers=$!
# A reader who is late does not keep the engine from ending what is to end.
late yes 15 --timeout 2 -- yes
assert_eq $? 124 "exit status: $(cat "$tmp/yes.stderr")"
assert_eq "$(jq -c '[.reason, .stdout.bytes]' "$tmp/yes.result")" "[\"wall_timeout\",$(stat -c %s "$tmp/yes")]" "result"
wait "$numbers"
assert_eq $? 0 "exit status: $(cat "$tmp/numbers.stderr")"
seq 300000 | cmp - "$tmp/numbers" || fail "what was passed on differs"
assert_eq "$(jq -c '[.reason, .stdout.bytes]' "$tmp/numbers.result")" '["exited",1988895]' "result"

# Nobody ever reads it: a signal ends that.
mkfifo "$tmp/fifo"
exec 3<>"$tmp/fifo"
"$MENACE_RUN" -q --backend docker -o "$tmp/result" -- seq 60000 >"$tmp/fifo" 2>"$tmp/stderr" 3<&- &
supervisor=$!
has_ended()
{
	[ "$(engine_get '/containers/json?all=1' | jq -r '.[].State')" = exited ]
}
wait_until 60 has_ended || fail "the container does not end: $(cat "$tmp/stderr")"
[ -d "/proc/$supervisor" ] || fail "the supervisor has dropped what nobody read yet"
kill -TERM "$supervisor"
wait "$supervisor"
assert_eq $? 0 "exit status: $(cat "$tmp/stderr")"
assert_eq "$(engine_containers)" 0 "containers"
