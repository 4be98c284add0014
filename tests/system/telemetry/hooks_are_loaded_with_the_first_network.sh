#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Hooks of control groups see nothing of a run without network, so it does not wait for them: the
# first run with one loads them, whoever came before it, and knows what they tell

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/telemetry.sh"

need_telemetry
need_system_program python3
code='import socket
a = [socket.socket() for i in range(3)]'
states() { gojq -c '[.telemetry.probes[] | select(.name == "socket" or .name == "tcp" or .name == "dns") | .state]
	+ [(.telemetry.counters.sockets // 0) >= 3, .telemetry.complete]' "$1"; }
is_loaded() { [ -d "$(list_sets)/net" ] && [ -d "$(list_sets)/dns" ] && [ -d "$(list_sets)/tcp" ]; }
is_not_loaded() { [ ! -e "$(list_sets)/net" ] && [ ! -e "$(list_sets)/dns" ] && [ ! -e "$(list_sets)/tcp" ]; }

run -q --lang python -c "$code"
assert_status 0
assert_eq "$(states "$result")" '["off","off","off",false,true]' "without network"
is_not_loaded || fail "hooks are loaded: $(ls "$(list_sets)")"
run -q --net loopback --lang python -c "$code"
assert_status 0
assert_eq "$(states "$result")" '["attached","attached","attached",true,true]' "with network, after one without"
is_loaded || fail "no hooks: $(ls "$(list_sets)")"
assert_books

# The first of all.
purge_probes
run -q --net loopback --lang python -c "$code"
assert_eq "$(states "$result")" '["attached","attached","attached",true,true]' "with network, as the first"
is_loaded || fail "no hooks: $(ls "$(list_sets)")"

# In one process, which has the set open.
purge_probes
for mode in none loopback; do
	gojq -n -c --arg mode "$mode" --arg code "$code" \
		'{schema: "menace.spec/1", program: ["python3", "-c", $code], net: {mode: $mode}}'
done >"$tmp/specs"
run_plain "$MENACE_RUN" -q --batch -j 1 <"$tmp/specs"
assert_status 0
sed -n 1p <<<"$stdout" >"$tmp/1.json"
sed -n 2p <<<"$stdout" >"$tmp/2.json"
assert_eq "$(states "$tmp/1.json")" '["off","off","off",false,true]' "the first line"
assert_eq "$(states "$tmp/2.json")" '["attached","attached","attached",true,true]' "the second line"
assert_eq "$("$loader" entries)" "" "groups still observed"
