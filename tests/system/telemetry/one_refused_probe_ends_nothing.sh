#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# The kernel refuses one program: that fact is null with the errno, all others are known, and the run goes on

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/telemetry.sh"

need_telemetry
maps=$MENACE_HELPERS/bpf-maps
need_file "$maps"
set=$(list_sets)

# As the loader writes it down.
rows=$(sed -n 's/^PROBE(\([a-z_0-9]*\), .*/\1/p' "$repo/bpf/probes.def")
row=$(($(grep -n -x crash <<<"$rows" | cut -d : -f 1) - 1))
"$maps" refuse "$set/matrix" "$row" || fail "refuse a row"

run_inside -- segv
assert_status 139
assert_reason signaled
assert_eq "$(json '.telemetry.probes[] | select(.name == "crash") | [.state, .errno] | tostring')" '["failed",1]' "the refused one"
assert_eq "$(json '.telemetry.probes | map(select(.name == "fork" or .name == "exec" or .name == "exit" or .name == "sched") | .state) | unique | tostring')" \
	'["attached"]' "the others"
assert_eq "$(json '.telemetry | [.level, .counters.crashes, .complete] | tostring')" '["default",null,false]' "what is known"
assert_eq "$(json '.telemetry.counters.exits_signaled | . >= 1')" true "ends by a signal"
assert_processes 2 1
