#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# The list of events is full long before the end: of a run that ends badly its last events
# are there all the same, of one that ends well they are counted

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/telemetry.sh"

need_telemetry

# run_many STATUS: sockets with a connection each, enough even if most are lost, then a program with a name of its own.
run_many()
{
	# shellcheck disable=SC2016 # for the shell inside
	run -q -t "$(scaled 60)" --net loopback -- bash -c '
		for ((i = 0; i < 2000; i++)); do : >/dev/udp/127.0.0.1/9; done
		/bin/echo the last one
		exit "$1"' bash "$1"
	assert_status "$1"
	assert_eq "$(json '.telemetry | (.events | length) + .books.events_not_listed
		+ ([.losses[] | select(.type != "fork" and .type != "exit").count] | add // 0)
		== (.counters | .execs + .sockets + .connects)')" true "each event is listed or counted"
}

listed='.telemetry | [(.events | length), .books.last_events_listed] | tostring'

run_many 0
assert_eq "$(json "$listed")" '[1024,0]' "what came first"
assert_eq "$(json '[.telemetry.events[] | select(.object == "/bin/echo")] | length')" 0 "the last exec"

# Of what the ring had no room for, since whoever reads it got no processor, nothing can be listed: once more.
for _ in 1 2 3 4 5; do
	run_many 3
	[ "$(json '[.telemetry.losses[] | select(.type == "exec")] | length')" -ne 0 ] || break
done
assert_eq "$(json "$listed")" '[1088,64]' "and what came last"
assert_eq "$(json '.telemetry.events[-1] | [.type, .object] | tostring')" '["exec","/bin/echo"]'
