#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Runs that have their calls counted at the same time: each call is counted once, for the run that
# made it, and those that go on are counted when the one that came first has ended

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/telemetry.sh"

need_telemetry
need_system_program python3
mkdir -m 777 "$tmp/meet"

# calls NAME GATE...: a run that says NAME when it is there, and behind each gate makes its calls.
calls()
{
	"$MENACE_RUN" -q -t "$(scaled 60)" -o "$tmp/$1.json" --telemetry default,+syscalls,+attempts,+forbidden \
		--rw "$tmp/meet:/meet" --lang python -c '
import os, sys, time
name, gates = os.path.join("/meet", sys.argv[1]), sys.argv[2:]
open(name, "w").close()
for gate in gates:
    while not os.path.exists("/meet/" + gate): time.sleep(0.01)
    for i in range(1000): os.getppid()
    os.close(os.memfd_create("x"))
    open(name + "." + gate, "w").close()' "$@"
}
counted()
{
	gojq -c '[([.telemetry.syscalls[] | select(.name == "getppid") | .count] | add),
		.telemetry.counters.memfd_calls, .telemetry.counters.forbidden_calls,
		([.telemetry.events[] | select(.type == "attempt")] | length), .telemetry.complete]' "$tmp/$1.json"
}
there() { wait_until "$(scaled 20)" test -e "$tmp/meet/$1" || fail "$1 is not there"; }

calls first both &
first=$!
there first
calls second both alone &
second=$!
there second
touch "$tmp/meet/both"
wait "$first" || fail "the first run: $?"
there second.both
touch "$tmp/meet/alone"
wait "$second" || fail "the second run: $?"
assert_eq "$(counted first)" "[1000,1,0,1,true]" "getppid, memfd_create, forbidden and events of the first"
assert_eq "$(counted second)" "[2000,2,0,2,true]" "the same of the second"
