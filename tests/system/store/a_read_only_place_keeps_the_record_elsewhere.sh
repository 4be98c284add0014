#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# The store's file system is read-only: the run and its result are as ever, the
# record waits elsewhere, what is there can be read, and all is taken in later,
# however the path of the store is written then
#
# sanitizers

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/store.sh"

mount_kept size=8m
run -- sh -c 'exit 5'
assert_eq "$(count_runs)" 1
for log in "" with-log; do
	if [ -z "$log" ]; then # nothing in the write-ahead log, and nobody can make a new one
		python3 -c 'import sqlite3, sys; sqlite3.connect(sys.argv[1]).execute("PRAGMA wal_checkpoint(TRUNCATE)")' "$store"
		rm -f "$store-wal" "$store-shm"
	fi
	mount -o remount,ro "$tmp/kept" || fail "cannot remount"
	run -- sh -c 'exit 6'
	assert_status 6
	assert_eq "$(json '"\(.reason) \(.store.state)"')" "exited queued"
	refuge=$(json .store.spool)
	at_exit rm -f "$refuge"
	assert_match "$refuge" '^/run/menace/spool/' "refuge"
	assert_contains "$stderr" "$store.spool: Read-only file system"
	menace runs --json
	assert_status 0
	assert_contains "$stderr" "what waits in the spool is not shown: "
	mount -o remount,rw "$tmp/kept" || fail "cannot remount"
	menace ingest
	assert_status 0
	assert_contains "$stdout" "1 taken in"
done
assert_eq "$(count_runs)" 3 "runs"
assert_verified

# One store, whatever it is called: by the run, and by who takes it in.
cd "$tmp/kept" || fail "no $tmp/kept"
ln -s kept "$tmp/link"
runs=3
while read -r by_run by_ingest; do
	mount -o remount,ro "$tmp/kept" || fail "cannot remount"
	MENACE_STORE=$by_run run -- true
	assert_eq "$(json .store.state)" queued "$by_run"
	refuge=$(json .store.spool)
	at_exit rm -f "$refuge"
	assert_match "$refuge" '^/run/menace/spool/' "$by_run"
	mount -o remount,rw "$tmp/kept" || fail "cannot remount"
	MENACE_STORE=$by_ingest menace ingest
	assert_status 0
	assert_contains "$stdout" "1 taken in"
	runs=$((runs + 1))
	assert_eq "$(count_runs)" $runs "runs: $by_run, $by_ingest"
done <<END
./menace.db $store
menace.db $store
$store ./menace.db
../kept/menace.db $store
$tmp/link/menace.db $store
$store $tmp//link/./menace.db
END

# A folder that is missing when it runs: what there is of the path is resolved.
MENACE_STORE=./new/menace.db run -- true
refuge=$(json .store.spool)
at_exit rm -f "$refuge"
mkdir -m 700 "$tmp/kept/new"
MENACE_STORE=$tmp/link/new/menace.db menace ingest
assert_status 0
assert_contains "$stdout" "1 taken in"

# Early versions named the refuge by the path as it was written: what lies there is found still.
mount -o remount,ro "$tmp/kept" || fail "cannot remount"
MENACE_STORE=$tmp/link/menace.db run -- true
refuge=$(json .store.spool)
at_exit rm -f "$refuge"
early=$(printf '%s' "$tmp/link/menace.db" | sha256sum)
mv "$refuge" "/run/menace/spool/${early:0:16}.spool"
at_exit rm -f "/run/menace/spool/${early:0:16}.spool"
mount -o remount,rw "$tmp/kept" || fail "cannot remount"
MENACE_STORE=$tmp/link/menace.db menace ingest
assert_status 0
assert_contains "$stdout" "1 taken in"
assert_eq "$(count_runs)" $((runs + 1)) "runs"
assert_verified
