#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# menace top: a run is in the table while it goes on, with its limits and what it uses, and
# not afterwards; the order is as asked

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/store.sh"
. "$repo/tests/lib/telemetry.sh"
. "$repo/tests/lib/follow.sh"

need_telemetry

# mine EXPRESSION: of the runs of this test, as gojq sees them.
mine()
{
	"$MENACE" top --json "${@:2}" | gojq -c "[.runs[] | select(.name as \$n | [\"spins\", \"eats\", \"forks\"] | index(\$n))] | $1"
}

start_waiting spins -m 64m --set limits.pids_max=77 -- sh -c 'echo waiting; read -r x; exec /processes spin 1000000'
spins=$supervisor
start_waiting eats --ro "$MENACE_HELPERS:/h" -- sh -c 'echo waiting; read -r x; /h/eat-memory anon 33554432 1; read -r y'
start_waiting forks -- sh -c 'echo waiting; read -r x; sleep 1000 & sleep 1000 & sleep 1000 & sleep 1000 & wait'
id=$("$MENACE" top --json | gojq -r '.runs[] | select(.name == "spins") | .run_id')
assert_eq "$(mine '[.[] | .state] | unique')" '["running"]' states
assert_eq "$(mine '.[] | select(.name == "spins") | [.program, .uid, .supervisor_pid, .memory_max_bytes, .pids_max]')" \
	"[\"sh\",0,$spins,67108864,77]" "a run"
assert_eq "$(mine '.[] | select(.name == "spins") | .pids')" 1 "processes without the sandbox's init"
assert_eq "$(mine '.[] | select(.name == "spins") | [.execs, .forks]')" "[1,2]" "counters of the kernel's side"

go spins
go forks
spins_much()
{
	[ "$(mine '.[] | select(.name == "spins") | .cpu_us > 300000')" = true ] &&
		[ "$(mine '.[] | select(.name == "forks") | .pids')" = 5 ]
}
wait_until 60 spins_much || fail "it does not use the CPU: $("$MENACE" top)"
# What it took to start them counts as well, and soon for little.
spins_most()
{
	[ "$(mine '.[0].name')" = '"spins"' ]
}
wait_until 60 spins_most || fail "another is first by CPU: $("$MENACE" top)"
assert_eq "$(mine '[.[].cpu_percent] | . == (sort | reverse)')" true "order by CPU"
assert_eq "$(mine '.[0].name' --sort pids)" '"forks"' "first by processes"
assert_eq "$(mine '.[0].name' --sort time)" '"spins"' "first by age"
assert_eq "$(mine 'map(select(.memory_bytes > .memory_peak_bytes or .memory_bytes <= 0)) | length')" 0 "memory"
go eats
eats_much()
{
	[ "$(mine '.[] | select(.name == "eats") | .memory_peak_bytes >= 33554432')" = true ]
}
wait_until 60 eats_much || fail "it does not use memory: $("$MENACE" top)"

# In text: a line a run, the first is the head.
menace top
assert_status 0
assert_match "${stdout%%$'\n'*}" '^RUN +STATE +AGE +CPU% +MEMORY +PEAK +LIMIT +PIDS +IO NAME, PROGRAM$'
assert_match "$(grep "^$id" "$tmp/stdout")" "^$id running .* [0-9.]+ .* 64 MiB +1 .* spins +sh\$"

# A look every so often, one document each; each share of CPU is of the time since the look before.
"$MENACE" top --json --interval 300ms >"$tmp/often" &
often=$!
# Of a look between which and the next nobody was kept from running.
three_looks()
{
	[ "$(wc -l <"$tmp/often")" -ge 3 ] &&
		[ "$(head -n "$(wc -l <"$tmp/often")" "$tmp/often" | tail -n 3 |
			gojq -s 'map(.runs[] | select(.name == "spins") | .cpu_percent > 0 and .cpu_percent < 250) == [true, true, true]')" = true ]
}
wait_until 60 three_looks || fail "share of CPU: $(tail -n 3 "$tmp/often")"
kill "$often"
wait "$often" 2>/dev/null

# A stopped supervisor is told, and a killed run is gone.
kill -STOP "$spins"
is_suspended()
{
	[ "$(mine '.[] | select(.name == "spins") | .state')" = '"suspended"' ]
}
wait_until 30 is_suspended || fail "a stopped one is $(mine '.[] | select(.name == "spins") | .state')"
kill -CONT "$spins"
kill -TERM "$spins"
wait "$spins"
assert_eq "$(mine '.[] | select(.name == "spins")')" "" "after its end"
kill -KILL "$supervisor"
wait "$supervisor" 2>/dev/null
assert_eq "$(mine '.[] | select(.name == "forks")')" "" "after its supervisor was killed"
run -q -- true # sweeps it

menace top --sort mem
assert_refused '--sort: unknown value "mem"; known are cpu, memory, time and pids'
menace top --sort memry
assert_refused '--sort: unknown value "memry"; did you mean memory?'
menace top --interval 99ms
assert_refused "--interval: accepted are 100ms to 24h"
menace top --interval soon
assert_refused '--interval: "soon" is not a time'
menace top extra
assert_refused "usage: menace top"
