#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# A run whose lease is held, but says what only another version reads, lives: nobody removes its container
#
# lane: engine

. "${0%/*}/../../lib/system.sh"
. "${0%/*}/../../lib/docker.sh"

need_engine
need_program jq unshare
with_own_leases
start_engine
menace=${MENACE:-${MENACE_RUN%/*}/menace}

mkfifo "$tmp/word"
"$MENACE_RUN" -q --backend docker -o "$tmp/result" -- sh -c 'echo here; read -r word; echo "$word"' \
	<"$tmp/word" >"$tmp/said" 2>"$tmp/stderr" &
run=$!
exec 9>"$tmp/word"
wait_until 60 grep -q here "$tmp/said" || fail "it does not begin: $(cat "$tmp/stderr")"
lease=$(find /run/menace/leases -type f ! -name '.*')
[ -f "$lease" ] || fail "leases: $(ls -A /run/menace/leases)"
echo "of another version" >"$lease" # the same file: it stays held

"$menace" purge-stale --json >"$tmp/purged" || fail "purge-stale: $?"
[ "$(jq -c '[.leases, .docker.runs, .docker.folders]' "$tmp/purged")" = '[0,0,0]' ] || fail "purged: $(cat "$tmp/purged")"
[ "$(engine_containers)" = 1 ] || fail "the container of a living run is gone"
echo still >&9
exec 9>&-
wait "$run" || fail "the run ends with $?: $(cat "$tmp/stderr")"
[ "$(tail -n 1 "$tmp/said")" = still ] || fail "it said: $(cat "$tmp/said")"
