#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# The list of events is full long before the end: of a run that ends badly its last events
# are there all the same, of one that ends well they are counted

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/telemetry.sh"

need_telemetry

# run_many STATUS: sockets with a connection each, then a program with a name of its own.  The program waits before the ring
# of events is full: what it writes and reads goes through the supervisor, which reads the ring on the way.
run_many()
{
	local ready

	# shellcheck disable=SC2016 # for the shell inside
	coproc MANY {
		exec "$MENACE_RUN" -o "$result" -q -t "$(scaled 60)" --net loopback -- bash -c '
			for ((i = 1; i <= 600; i++)); do
				: >/dev/udp/127.0.0.1/9
				((i % 100)) || { echo ready; read -r x; }
			done
			/bin/echo the last one
			exit "$1"' bash "$1" 2>"$tmp/stderr"
	}
	many=$MANY_PID
	while read -r ready && [ "$ready" = ready ]; do
		echo >&"${MANY[1]}"
	done <&"${MANY[0]}"
	assert_eq "$ready" "the last one" "what the program said last"
	wait "$many"
	assert_eq $? "$1" "exit status"
	assert_eq "$(json '.telemetry | (.events | length) + .books.events_not_listed
		+ ([.losses[] | select(.type != "fork" and .type != "exit").count] | add // 0)
		== (.counters | .execs + .sockets + .connects)')" true "each event is listed or counted"
}

listed='.telemetry | [(.events | length), .books.last_events_listed] | tostring'

run_many 0
assert_eq "$(json "$listed")" '[1024,0]' "what came first"
assert_eq "$(json '[.telemetry.events[] | select(.object == "/bin/echo")] | length')" 0 "the last exec"

run_many 3
assert_eq "$(json "$listed")" '[1088,64]' "and what came last"
assert_eq "$(json '.telemetry.events[-1] | [.type, .object] | tostring')" '["exec","/bin/echo"]'
