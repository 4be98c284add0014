#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Another process holds the database locked: a run is not delayed, its record waits
#

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/store.sh"

need_root
need_program python3

run -- true
assert_eq "$(count_runs)" 1
mkfifo "$tmp/go"
python3 - "$store" "$tmp/go" >"$tmp/locked" <<'END' &
import sqlite3, sys
db = sqlite3.connect(sys.argv[1], isolation_level=None)
db.execute("BEGIN IMMEDIATE")
print("locked", flush=True)
open(sys.argv[2]).read()
db.execute("ROLLBACK")
END
holder=$!
kill_quietly()
{
	kill "$1" 2>/dev/null
}
at_exit kill_quietly $holder
wait_until 20 grep -q locked "$tmp/locked" || fail "not locked"

tries=0
# is_not_delayed: by the lock; others may keep it from the processor.
is_not_delayed()
{
	tries=$((tries + 1))
	run -- sh -c 'exit 4'
	assert_status 4
	assert_eq "$(json .store.state)" queued
	assert_eq "$stderr" ""
	[ "$elapsed_ms" -le "$(scaled 3000)" ]
}
patiently is_not_delayed || fail "a run beside a lock takes $elapsed_ms ms"
menace ingest
assert_status 125
assert_contains "$stderr" "store $store is locked by another process; try again"
menace runs --json
assert_status 0
assert_eq "$(wc -l <"$tmp/stdout")" 1 "runs that can be read meanwhile"
assert_contains "$stderr" "what waits in the spool is not shown"

echo >"$tmp/go"
wait $holder
menace ingest
assert_contains "$stdout" "$tries taken in"
assert_eq "$(count_runs)" $((1 + tries))
assert_verified
