#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Where nothing is observed the result says why, and no number is made up

. "$(dirname "$0")/../../lib/system.sh"
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
assert_eq "$(jq -r .telemetry.level <<<"$stdout")" null
assert_match "$(jq -r .telemetry.reason <<<"$stdout")" "control group|need root"
