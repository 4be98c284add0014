#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# A damaged database is never deleted or made anew: runs go on as ever, records
# wait in the spool, and are taken in when a good copy is in its place
#
# security
# sanitizers

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/store.sh"

need_root
need_program python3

run -- sh -c 'exit 1'
assert_eq "$(count_runs)" 1
python3 -c 'import sqlite3, sys; sqlite3.connect(sys.argv[1]).execute("PRAGMA wal_checkpoint(TRUNCATE)")' "$store"
rm -f "$store-wal" "$store-shm"
cp "$store" "$tmp/good.db"

damage()
{
	cp "$tmp/damaged.db" "$store"
	run -- sh -c 'echo out; exit 9'
	assert_status 9
	assert_eq "$stdout:$stderr" out: "output"
	assert_eq "$(json '"\(.reason) \(.store.state)"')" "exited queued"
	menace runs
	assert_status 125
	assert_contains "$stderr" "$1"
	menace ingest
	assert_status 125
	cmp -s "$store" "$tmp/damaged.db" || fail "the damaged file was changed"
	rm -f "$store" "$store-wal" "$store-shm"
}

# Its beginning overwritten, its middle overwritten, its end cut off.
{ head -c 4096 /dev/zero | tr '\0' '\125'; tail -c +4097 "$tmp/good.db"; } >"$tmp/damaged.db"
damage "is no database or is damaged, and was left as it is"
{ head -c 4096 "$tmp/good.db"; head -c 200000 /dev/zero | tr '\0' '\377'; } >"$tmp/damaged.db"
damage "is damaged and was left as it is"
head -c 6000 "$tmp/good.db" >"$tmp/damaged.db"
damage "is damaged and was left as it is"

cp "$tmp/good.db" "$store"
menace ingest
assert_eq "$status:$stdout" "0:3 taken in, 0 known already, 0 put aside, 0 files in use"
assert_eq "$(count_runs)" 4
assert_verified
