#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# A start sweeps what crashed runs left, but never a run that lives, even one
# whose supervisor is stopped
# security

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/docker.sh"
. "$repo/tests/lib/runs.sh"

with_own_leases
need_root
need_cgroups
check_leaks

mkfifo "$tmp/out" "$tmp/go"
"$MENACE_RUN" -q -t "$(scaled 60)" -o "$tmp/living.json" -- \
	sh -c 'echo ready; read -r word; echo "$word"' <"$tmp/go" >"$tmp/out" &
living=$!
exec 3>"$tmp/go" 4<"$tmp/out"
read -r -u 4 word
assert_eq "$word" ready
id=$(run_id_of "$living") || fail "no run of process $living"
lease=/run/menace/leases/$id
[ -f "$lease" ] || fail "no lease $lease"
kill -STOP "$living"
run -v -- echo first
assert_status 0
assert_not_contains "$stderr" "crashed"
[ -f "$lease" ] || fail "the lease of a living run was swept"
kill -CONT "$living"
run -v -- echo second
assert_status 0
assert_not_contains "$stderr" "crashed"
echo untouched >&3
wait "$living"
assert_eq $? 0 "exit status of the living run"
assert_eq "$(cat <&4)" untouched "its output"
assert_eq "$(jq -r .reason "$tmp/living.json")" exited "its reason"
assert_absent "$lease"
