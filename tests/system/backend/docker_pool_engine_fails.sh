#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# An engine with a pool that is killed, started again or hangs: clear words in time, and nothing wrong is used
#
# lane: engine

. "${0%/*}/../../lib/system.sh"
. "${0%/*}/../../lib/docker.sh"

need_engine
need_program jq unshare
with_own_leases
start_engine
menace=${MENACE:-${MENACE_RUN%/*}/menace}

# here ARGUMENT...: a run that wants a prepared container.
here()
{
	local begin=$SECONDS

	"$MENACE_RUN" -q --backend docker --pool 1 -o "$tmp/result" "$@" >"$tmp/stdout" 2>"$tmp/stderr"
	status=$?
	took=$((SECONDS - begin))
	said=$status,$(jq -r '[.reason, .receipt.container.pool, .error.message]|map(. // "")|join(",")' "$tmp/result")
}

# is PATTERN: what the last run said.
is()
{
	[[ $said == $1* ]] || fail "$said instead of $1: $(cat "$tmp/stderr") $("$menace" pool status --json)"
}

here -- true
is '0,exited,none was ready,'
pool_has 1

# Killed and started again: what waited is dead, is found to be, and one that is new is made.
kill -9 -- "-$engine_pid"
wait "$engine_pid" 2>/dev/null
here -- true
is '125,setup_error,,GET /version: no answer of the Docker Engine at unix://'
[ "$("$menace" pool status --json | jq -c '[.containers[].state, (.engine_error|type)]')" = '["ready","string"]' ] ||
	fail "status without an engine: $("$menace" pool status --json)"
"$menace" purge-stale >"$tmp/stdout" || fail "purge-stale without an engine is no failure: $?"
grep -q 'containers were not looked for, and what prepared ones need stays: ' "$tmp/stdout" || fail "purge-stale: $(cat "$tmp/stdout")"
"$menace" pool drain >/dev/null 2>"$tmp/stderr" && fail "drain without an engine"
nobody_cleans_up
start_engine
here -- sh -c 'echo new'
is '0,exited,none was ready,'
[ "$(cat "$tmp/stdout")" = new ] || fail "output: $(cat "$tmp/stdout")"

# Failures of those who prepare are counted and put the next off; that the engine is back ends it.
[ "$("$menace" pool status --json | jq -c '.counters|[.failures >= 1, (.last_failure|type)]')" = '[true,"string"]' ] ||
	fail "counters: $("$menace" pool status --json)"
for ((i = 0; i < 100; i++)); do
	here -- true
	[[ $said == 0,exited,used,* ]] && break
	sleep 0.2
done
is '0,exited,used,'
[ "$("$menace" pool status --json | jq .counters.failures_in_a_row)" = null ] || fail "counters: $("$menace" pool status --json)"

# One whose container somebody has killed is not used, either.
pool_has 1
nobody_cleans_up
for id in $(engine_get /containers/json | jq -r '.[].Id'); do
	curl -s --unix-socket "$engine_dir/sock" -X POST "http://engine/containers/$id/kill" >/dev/null
done
here -- true
is '0,exited,none was ready,'
nobody_cleans_up

# It hangs before a run: the run says so, and so does who cleans up.  Each waits ten seconds for it: all at once.
pool_has 1
kill -STOP -- "-$engine_pid"
"$menace" purge-stale >"$tmp/purged" 2>"$tmp/purged.err" &
purge=$!
"$menace" pool status --json >"$tmp/status" &
look=$!
here -- true
is '125,setup_error,,GET /version: no answer of the Docker Engine at unix://*imed out'
[ "$took" -le 60 ] || fail "that took $took s"
wait "$purge"
[[ $?,$(cat "$tmp/purged.err") == 125,*'no answer of the Docker Engine'* ]] || fail "purge-stale: $(cat "$tmp/purged.err")"
wait "$look"
jq -e '.engine_error and (.containers|length == 1)' "$tmp/status" >/dev/null || fail "status: $(cat "$tmp/status")"
kill -CONT -- "-$engine_pid"
nobody_cleans_up
here -- true
is '0,exited,used,'

# hang_midway: in a run in a prepared container; fails if that was over before.
hang_midway()
{
	pool_has 1
	nobody_cleans_up
	rm -f "$tmp/begun" # what an earlier one said
	"$MENACE_RUN" -q --backend docker --pool 1 --timeout 5 -o "$tmp/result" -- sh -c 'echo begun; sleep 1000' >"$tmp/begun" 2>"$tmp/stderr" &
	run=$!
	wait_until 30 test -s "$tmp/begun" || fail "it does not begin: $(cat "$tmp/stderr")"
	kill -STOP -- "-$engine_pid"
	wait "$run"
	said=$?,$(jq -r '[.reason, .receipt.container.pool, .error.message]|join(",")' "$tmp/result")
	kill -CONT -- "-$engine_pid"
	nobody_cleans_up
	[[ $said != 124,wall_timeout,* ]]
}
patiently hang_midway
is '125,supervisor_lost,used,'
"$menace" cleanup >/dev/null || fail "cleanup"
nothing_is_left
