#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# The list of events is full long before the end: of a run that ends badly its last events
# are there all the same, of one that ends well they are counted

. "$(dirname "$0")/../../lib/system.sh"
. "$repo/tests/lib/telemetry.sh"

need_telemetry

# run_many STATUS: 1,200 programs, then one more with a name of its own.
run_many()
{
	run -q -t "$(scaled 60)" --ro "$helper:/processes" -- \
		sh -c '/processes execs 1200 /bin/true; /bin/echo the last one; exit "$1"' sh "$1"
	assert_status "$1"
	assert_eq "$(json '.telemetry | (.events | length) + .books.events_not_listed
		+ ([.losses[] | select(.type == "exec").count] | add // 0)')" \
		"$(json .telemetry.counters.execs)" "each exec is listed or counted"
}

listed='.telemetry | [(.events | length), .books.last_events_listed] | tostring'

run_many 0
assert_eq "$(json "$listed")" '[1024,0]' "what came first"
assert_eq "$(json '[.telemetry.events[] | select(.object == "/bin/echo")] | length')" 0 "the last exec"

run_many 3
assert_eq "$(json "$listed")" '[1088,64]' "and what came last"
assert_eq "$(json '.telemetry.events[-1] | [.type, .object] | tostring')" '["exec","/bin/echo"]'
