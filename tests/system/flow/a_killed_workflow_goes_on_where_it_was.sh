#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# A workflow that is killed again and again is resumed: each step is done once, and in a shared workspace
# each step's changes are there once

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/store.sh"
need_root
check_leaks

nap=0.5
[ "$MENACE_SLOWDOWN" -eq 1 ] || nap=3
cat >"$tmp/flow.json" <<END
{"schema": "menace.flow/1", "name": "long", "workspace": "shared", "combined": false,
 "test_data": {"log": "begin\n", "drop/me": "x"},
 "steps": [
  {"name": "a", "program": ["sh", "-c", "echo a >>log; sleep $nap"]},
  {"name": "b", "program": ["sh", "-c", "echo b >>log; rm -r drop; mkdir d; echo 1 >d/f; sleep $nap"], "files": {"only-b": "x"}},
  {"name": "c", "program": ["sh", "-c", "echo c >>log; test ! -e drop; test ! -e only-b; ln -s /etc/passwd link; rm -r d; echo 2 >d; sleep $nap"]},
  {"name": "d", "program": ["sh", "-c", "echo d >>log; rm link; echo own >link; sleep $nap"]},
  {"name": "e", "program": ["sh", "-c", "echo e >>log; cat log d link; ls"]}]}
END

# kill_after N COMMAND...: when N steps are in the store, killed without a warning; fails if it was over by then.
kill_after()
{
	local n=$1 pid

	shift
	"$MENACE" "$@" >"$tmp/stdout" 2>"$tmp/stderr" &
	pid=$!
	wait_until 20 has_steps "$n" || fail "no $n steps"
	sleep 0.05 # into the next one
	kill -KILL "$pid" 2>/dev/null
	wait "$pid" 2>/dev/null
	[ "$("$MENACE" flow list --runs --json | jq .ended_us)" = null ]
}
has_steps()
{
	local n

	n=$("$MENACE" query 'SELECT count(*) AS n FROM flow_steps' --json 2>/dev/null | jq .n)
	[ "${n:-0}" -ge "$1" ] # there may be no store yet
}

# kill_three_times: sets $id.  The last step is short: it may be over by the third time.
kill_three_times()
{
	new_store
	kill_after 1 flow run "$tmp/flow.json" || return
	id=$("$MENACE" flow list --runs --json | jq -r .flow_run)
	assert_match "$id" '^[0-9a-f]{16}$'
	kill_after 2 flow run --resume "$id" || return
	kill_after 4 flow run --resume "$id" || true
}
patiently kill_three_times || fail "it was over before it was killed"
menace flow run --resume "$id" --json
assert_status 0
cp "$tmp/stdout" "$result"
assert_eq "$(json '.steps[4].stdout')" 'begin
a
b
c
d
e
2
own
d
link
log'
assert_eq "$("$MENACE" query 'SELECT n, count(*) AS times, sum(passed) AS passed FROM flow_steps GROUP BY n' --json | jq -c '[.n, .times, .passed]' | tr -d '\n')" \
	"[0,1,1][1,1,1][2,1,1][3,1,1][4,1,1]"

# What is over is told again, and nothing is run.
before=$("$MENACE" query 'SELECT count(*) AS n FROM runs' --json)
menace flow run --resume "$id"
assert_status 0
assert_contains "$stdout" "long: passed (flow run $id)"
assert_eq "$("$MENACE" query 'SELECT count(*) AS n FROM runs' --json)" "$before" "runs"
assert_eq "$(find "$store.flows" -mindepth 1)" "" "left beside the store"

# Two at once would do steps twice; an interrupt is told, with what goes on from there.  Fails if the first one was over
# before it was interrupted; it takes longer with each try, for whom others keep from being in time.
second_is_refused()
{
	sed "s/sleep $nap/sleep $long/" "$tmp/flow.json" >"$tmp/long.json"
	long=$((3 * long))
	new_store
	"$MENACE" flow run "$tmp/long.json" >"$tmp/first" 2>&1 &
	pid=$!
	wait_until 20 has_steps 1 || fail "the second run does not begin"
	id=$("$MENACE" flow list --runs --json | jq -r .flow_run)
	menace flow run --resume "$id"
	kill -TERM "$pid" 2>/dev/null
	wait "$pid"
	interrupted=$?
	[ "$interrupted" -ne 0 ] || return
	assert_eq "$interrupted" 143 "status of the one that was interrupted"
	assert_status 125
	assert_contains "$stderr" "$id is being run by another process"
}
long=$((MENACE_SLOWDOWN > 1 ? 3 : 1))
patiently second_is_refused || fail "the first one was over before it was interrupted"
assert_contains "$(cat "$tmp/first")" "interrupted: menace flow run --resume $id goes on"
menace flow run --resume "$id"
assert_status 0
# What cannot be brought in is told.
printf '{"schema": "menace.flow/1", "workspace": "shared", "combined": false,
	"steps": [{"name": "x", "program": ["mkfifo", "p"]}]}' >"$tmp/fifo.json"
menace flow run "$tmp/fifo.json"
assert_status 0
assert_contains "$stderr" 'step "x": not all that it changed is in the shared workspace; first left out: "p"'
menace flow run --resume 0123456789abcdef
assert_status 1
assert_contains "$stderr" '--resume: the store has no "0123456789abcdef"'
