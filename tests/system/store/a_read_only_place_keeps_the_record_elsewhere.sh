#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# The store's file system is read-only: the run and its result are as ever, the
# record waits elsewhere, what is there can be read, and all is taken in later
#
# any kernel

. "$(dirname "$0")/../../lib/system.sh"
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
