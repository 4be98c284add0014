#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# menace query ends soon after --timeout whatever the statement does, be it one call
# of one function, and says so; a slow reader is not a slow statement
#

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/store.sh"

need_root

"$MENACE_RUN" -q -- true
assert_eq "$(count_runs)" 1 "runs, with none in the spool any more"
too_long="menace: query: store $store took too long to answer (interrupted)"

# assert_overdue SQL: more than the time that it has, and far less than it would take.
assert_overdue()
{
	local started

	started=$(boot_ms)
	run_plain timeout 50 "$MENACE" query -t 500ms "$1"
	assert_status 125
	assert_eq "$stderr" "$too_long"
	assert_eq "$stdout" ""
	assert_ge $(($(boot_ms) - started)) 490 "ms until the end of $1"
}

# More than a pipe holds, in more steps than are taken without a look at the clock; the reader begins when the
# time is long over: four others that take 500 ms each are behind it.
mkfifo "$tmp/pipe"
"$MENACE" query --json -t 1500ms "WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < 4000)
	SELECT n, format('%.*c', 400, 'a') AS text FROM c" >"$tmp/pipe" 2>"$tmp/slow.err" &
query=$!
exec {slow}<"$tmp/pipe"

big="format('%.*c', 8000000, 'a')"
assert_overdue "SELECT trim($big, format('%.*c', 1200000, 'b') || 'a')"
assert_overdue "SELECT instr($big, format('%.*c', 4000000, 'a') || 'b')"
assert_overdue "SELECT length(replace($big, format('%.*c', 4000000, 'a') || 'b', ''))"
assert_overdue "WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c) SELECT sum(n) FROM c"

lines=$(wc -l <&"$slow")
exec {slow}<&-
wait "$query" || fail "a slow reader ended the query: $(cat "$tmp/slow.err")"
assert_eq "$lines" 4000 "rows that a slow reader gets"

menace query -t 30s "SELECT length(trim(format('%.*c', 1000, 'a'), 'a')) AS n"
assert_status 0
assert_eq "$(tail -n 1 <<<"$stdout")" 0
