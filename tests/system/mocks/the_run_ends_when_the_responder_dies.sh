#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# When what answers is killed the run ends as a failure of ours, and when menace-run is
# killed neither the payload nor what answers is left
# security

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/mocks.sh"

need_program pgrep
check_leaks

begin()
{
	rm -f "$tmp/started"
	mkdir -p "$tmp/out"
	chmod 777 "$tmp/out"
	rm -f "$tmp/out/started"
	"$MENACE_RUN" -q -t 100 -o "$result" --net stub --mock 'a.example=body:x' --rw "$tmp/out:/out" -- \
		sh -c 'touch /out/started; sleep 1000' >"$tmp/stdout" 2>"$tmp/stderr" &
	supervisor=$!
	wait_until 30 test -e "$tmp/out/started" || fail "the payload does not start"
	responder=$(pgrep -P "$supervisor" -x menace-netd) || fail "nothing answers"
}

begin
kill -KILL "$responder"
wait "$supervisor"
# shellcheck disable=SC2034 # for assert_status
status=$?
assert_status 125
assert_eq "$(json '.error.message')" \
	"menace-netd, which answers for the network, was killed by signal 9 (SIGKILL)"

begin
kill -KILL "$supervisor"
wait "$supervisor" 2>/dev/null
wait_until 10 test ! -e "/proc/$responder" || fail "menace-netd is left"
# What a killed supervisor leaves goes with the next start.
"$MENACE_RUN" -q -- true
