#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# The cells of a matrix are run by processes that stay: one that is killed costs the cell that it ran, or
# none where it waited, and what it left is swept
#

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/store.sh"
need_root
need_cgroups
check_leaks

cells_done()
{
	[ "$("$MENACE" query 'SELECT count(*) AS n FROM cells' --json 2>/dev/null | jq .n)" -ge "$1" ] 2>/dev/null
}
# kill_runner: sets $status; fails if all cells were over before.  They are longer with each try, for whom others keep
# from looking in time.
kill_runner()
{
	local pid runner

	new_store
	"$MENACE" scenario run --scenarios normal -r 10 -s 3 --json -- sleep "$nap" >"$tmp/stdout" 2>"$tmp/stderr" &
	pid=$!
	nap=$(awk "BEGIN { print 3 * $nap }")
	wait_until 40 cells_done 3 || fail "no cells"
	runner=$(pgrep -P "$pid" -f -- --batch)
	assert_le "$(wc -w <<<"$runner")" 1 "runners of one job"
	[ -z "$runner" ] || kill -KILL "$runner" 2>/dev/null || runner=
	wait "$pid"
	status=$?
	[ -n "$runner" ]
}
nap=0.1
patiently kill_runner || fail "no runner was there to be killed"
assert_match "$status" '^(0|125)$'
cp "$tmp/stdout" "$result"
assert_eq "$(json '.cells | length')" 20
assert_eq "$(json '.counts.passed + .counts.error')" 20
assert_le "$(json .counts.error)" 1
assert_eq "$(json '.cells[] | select(.verdict == "error") | .why[0]')" "$([ "$(json .counts.error)" = 0 ] || echo 'step "run": menace-run was killed by signal 9')" "why"
run -q -- true # sweeps
