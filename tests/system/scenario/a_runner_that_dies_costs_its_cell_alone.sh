#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# The cells of a matrix are run by processes that stay: one that is killed costs the cell that it ran, or
# none where it waited, and what it left is swept
#
# security

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/store.sh"
. "$repo/tests/lib/gate.sh"
need_root
need_cgroups
check_leaks
use_gate

close_gate 3
"$MENACE" scenario run --scenarios normal -r 4 -s 3 --json -- sh /gate/pass >"$tmp/stdout" 2>"$tmp/stderr" &
pid=$!
wait_until 50 is_waiting 4 || fail "no fourth cell"
runner=$(pgrep -P "$pid" -f -- --batch)
assert_eq "$(wc -w <<<"$runner")" 1 "runners of one job"
# What comes after it passes.
open_gate
kill -KILL "$runner"
wait "$pid"
assert_eq $? 125 "exit status"
cp "$tmp/stdout" "$result"
assert_eq "$(json '[.cells[].verdict] | join(" ")')" "passed passed passed error passed passed passed passed"
assert_eq "$(json '.cells[3].why[0]')" 'step "run": menace-run was killed by signal 9'
run -q -- true # sweeps
