#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# A workflow that is killed again and again is resumed: each step is done once, and in a shared workspace
# each step's changes are there once
#
# security

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/store.sh"
. "$repo/tests/lib/gate.sh"
need_root
check_leaks
use_gate

cat >"$tmp/flow.json" <<END
{"schema": "menace.flow/1", "name": "long", "workspace": "shared", "combined": false,
 "test_data": {"log": "begin\n", "drop/me": "x"},
 "steps": [
  {"name": "a", "program": ["sh", "-c", "echo a >>log; sh /gate/pass"]},
  {"name": "b", "program": ["sh", "-c", "echo b >>log; rm -r drop; mkdir d; echo 1 >d/f; sh /gate/pass"], "files": {"only-b": "x"}},
  {"name": "c", "program": ["sh", "-c", "echo c >>log; test ! -e drop; test ! -e only-b; ln -s /etc/passwd link; rm -r d; echo 2 >d; sh /gate/pass"]},
  {"name": "d", "program": ["sh", "-c", "echo d >>log; rm link; echo own >link; sh /gate/pass"]},
  {"name": "e", "program": ["sh", "-c", "echo e >>log; cat log d link; ls"]}]}
END

# count_steps: in the store.
count_steps()
{
	"$MENACE" query 'SELECT count(*) AS n FROM flow_steps' --json | gojq .n
}
# kill_after N COMMAND...: N more steps end well, and it is killed in the one after them.
kill_after()
{
	local n=$1 pid

	shift
	close_gate "$n"
	"$MENACE" "$@" >"$tmp/stdout" 2>"$tmp/stderr" &
	pid=$!
	wait_until 50 is_waiting $((n + 1)) || fail "no step $((n + 1)): $(<"$tmp/stderr")"
	kill_all "$pid"
	open_gate
	assert_eq "$("$MENACE" flow list --runs --json | gojq .ended_us)" null "end of what was killed"
}

kill_after 1 flow run "$tmp/flow.json"
assert_eq "$(count_steps)" 1 "steps that are kept"
id=$("$MENACE" flow list --runs --json | gojq -r .flow_run)
assert_match "$id" '^[0-9a-f]{16}$'
kill_after 0 flow run --resume "$id"
assert_eq "$(count_steps)" 1 "steps that are kept"
kill_after 2 flow run --resume "$id"
assert_eq "$(count_steps)" 3 "steps that are kept"
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
assert_eq "$("$MENACE" query 'SELECT n, count(*) AS times, sum(passed) AS passed FROM flow_steps GROUP BY n' --json | gojq -c '[.n, .times, .passed]' | tr -d '\n')" \
	"[0,1,1][1,1,1][2,1,1][3,1,1][4,1,1]"

# What is over is told again, and nothing is run.
before=$("$MENACE" query 'SELECT count(*) AS n FROM runs' --json)
menace flow run --resume "$id"
assert_status 0
assert_contains "$stdout" "long: passed (flow run $id)"
assert_eq "$("$MENACE" query 'SELECT count(*) AS n FROM runs' --json)" "$before" "runs"
assert_eq "$(find "$store.flows" -mindepth 1)" "" "left beside the store"

# Two at once would do steps twice; an interrupt is told, with what goes on from there.
new_store
close_gate 1
"$MENACE" flow run "$tmp/flow.json" >"$tmp/first" 2>&1 &
pid=$!
wait_until 50 is_waiting 2 || fail "the second step does not begin"
id=$("$MENACE" flow list --runs --json | gojq -r .flow_run)
menace flow run --resume "$id"
assert_status 125
assert_contains "$stderr" "$id is being run by another process"
kill -TERM "$pid"
wait "$pid"
assert_eq $? 143 "status of the one that was interrupted"
open_gate
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
