#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Where nothing is observed the result says why, and no number is made up

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/telemetry.sh"

need_telemetry
run -q --telemetry off -- true
assert_status 0
assert_eq "$(json '.telemetry | [.requested, .level, .reason, .processes, .events, .complete] | tostring')" \
	'["off",null,"switched off by telemetry.level",null,null,null]'
run -q --telemetry basic -- true
assert_eq "$(json '.telemetry | [.level, .complete, .histograms, .counters.execs] | tostring')" \
	'["basic",true,null,1]'
assert_eq "$(json '[.telemetry.probes[].name] | tostring')" '["fork","exec","exit","crash"]'
# Single probes: one of a higher level, which nothing else is loaded for, and one that is left out.
set=$(list_sets)
assert_absent "$set/syscalls"
run -q --telemetry basic,+syscalls,-crash -- true
assert_status 0
assert_eq "$(json '[.telemetry.probes[] | [.name, .state]] | tostring')" \
	'[["fork","attached"],["exec","attached"],["exit","attached"],["crash","off"],["syscalls","attached"]]'
assert_eq "$(json '.telemetry.probes[] | select(.name == "crash") | .consequence')" \
	"unknown: fatal signals: code, address and stack; switched off by telemetry.probes"
assert_eq "$(json '.telemetry | [.complete, .counters.crashes, .counters.cpu_ns, .above_level.sched] | tostring')" \
	'[true,null,null,"default"]'
assert_eq "$(json '[.telemetry.syscalls[].count] | add > 0')" true calls
[ -d "$set/syscalls" ] && [ ! -e "$set/ready-syscalls" ] || fail "what is loaded: $(ls "$set")"
run -q --telemetry off,+exec -- true
assert_eq "$(json '[.telemetry.level, .telemetry.counters.forks, .telemetry.counters.execs, (.telemetry.events | length)] | tostring')" \
	'["off",null,1,1]'
run -q --set telemetry.probes=-sched -- true
assert_eq "$(json '.telemetry | [.histograms, .counters.cpu_ns, .complete] | tostring')" "[null,null,true]"
assert_books

run -q --telemetry default,-crahs -- true
assert_refused "--telemetry" 'unknown probe "crahs"; did you mean crash?'
run -q --telemetry much -- true
assert_refused "--telemetry" "much"

# Not a bpf file system: the run goes on without.
MENACE_BPF_DIR=$tmp run -q -- true
assert_status 0
assert_match "$(json .telemetry.reason)" "is no bpf file system"
assert_eq "$(json .telemetry.processes)" null

need_unprivileged_user
mkdir "$tmp/runtime"
chown 65534:65534 "$tmp/runtime"
XDG_RUNTIME_DIR=$tmp/runtime run_plain "${as_user[@]}" "$MENACE_RUN" -q -o - --best-effort cgroup -- true
assert_status 0
assert_eq "$(gojq -r .telemetry.level <<<"$stdout")" null
assert_match "$(gojq -r .telemetry.reason <<<"$stdout")" "control group|need root"
