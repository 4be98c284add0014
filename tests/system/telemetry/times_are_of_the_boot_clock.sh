#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Times of events and processes are of the clock that counts on while the machine sleeps, that of /proc/uptime and of
# /proc/PID/stat, in the result and in the store; and who did something is known from the first event on

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/store.sh"
. "$repo/tests/lib/telemetry.sh"

need_telemetry
uptime_ns() { awk '{ printf "%.0f\n", $1 * 1e9 }' /proc/uptime; }

tick_ns=$((1000000000 / $(getconf CLK_TCK)))
before=$(uptime_ns)
# The 22nd word: when it was started, in ticks since the boot.  There are no spaces in the second.
run -q -- sh -c 'read -r line </proc/$$/stat; set -- $line; shift 21; echo "$1"; /bin/true'
after=$(uptime_ns)
assert_status 0

# assert_within TIMES WHAT: of the run; /proc/uptime has two digits.
assert_within()
{
	assert_eq "$(json "[$1] | length > 0 and all(. >= $((before - 10000000)) and . <= $((after + 10000000)))")" true "$2"
}
assert_within '.telemetry.events[].boot_ns' "times of events"
assert_within '.telemetry.processes[] | .start_boot_ns, .exit_boot_ns' "times of processes"
assert_eq "$(json ".telemetry.processes[] | select(.inner_pid == 2) | .start_boot_ns / $tick_ns | floor")" "$stdout" \
	"when the program was started"

# The store keeps them as they are.
stored=$("$MENACE" events "$(run_ids | tail -n 1)" --json) || fail "menace events: $?"
assert_eq "$(gojq -s -c 'map(select(.type == "exec") | .boot_ns)' <<<"$stored")" \
	"$(json '[.telemetry.events[] | select(.type == "exec") | .boot_ns] | tostring')" "times in the store"

# From the first one on, which is init's: nobody is without a number, a beginning and a name.
assert_eq "$(json '.telemetry.processes[0].inner_pid')" 1 "the first process"
assert_eq "$(json '[.telemetry.processes[], .telemetry.events[] | .tgid > 0 and .start_boot_ns > 0 and .comm != ""] | all')" true \
	"identity in the result"
# Who made a process before it began a program has no name of its own there.
assert_eq "$(gojq -s 'map(.tgid > 0 and (.type == "fork" or (.comm // "") != "")) | length > 0 and all' <<<"$stored")" true \
	"identity in the store"
assert_eq "$("$MENACE" query --json "SELECT count(*) AS n FROM events WHERE coalesce(run_id, '') = ''" | gojq .n)" 0 \
	"events of no run"
