#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# A store of an older version can be read at once, whether something waits in its spool or not; where
# it cannot be written it is said who can
#
# sanitizers

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/store.sh"

mount_kept size=16m

# The first schema: without what later sections add.
make_old()
{
	edit "$(sed -n -e '/^--@ 2/,$s/^ALTER TABLE \([a-z]*\) ADD COLUMN \([a-z_]*\) .*/ALTER TABLE \1 DROP COLUMN \2;/p' \
		-e '/^--@ 2/,$s/^CREATE TABLE \([a-z_]*\) .*/DROP TABLE \1;/p' \
		"$repo/runtime/store/schema.sql") PRAGMA user_version = 1"
}
version()
{
	python3 -c 'import sqlite3, sys; print(sqlite3.connect(sys.argv[1]).execute("PRAGMA user_version").fetchone()[0])' \
		"$store"
}

"$MENACE_RUN" -q -- true
menace runs --json
assert_status 0
before=$stdout
present=$(version)

make_old
assert_eq "$(version)" 1 "version of the old one"
mount -o remount,ro "$tmp/kept"
menace runs --json
assert_status 125
assert_contains "$stderr" "has schema version 1 and cannot be brought to $present while it is only read; menace ingest does"
assert_contains "$stderr" "cannot be opened; check the rights of it and its folder"
mount -o remount,rw "$tmp/kept"
menace runs --json
assert_status 0
assert_eq "$stderr" ""
assert_eq "$stdout" "$before" "the run"
assert_eq "$(version)" "$present" "version"
assert_verified

make_old
"$MENACE_RUN" -q -- true
assert_eq "$(count_runs)" 2 "runs"
assert_verified
for format in jsonl prometheus ocsf otlp ecs cef; do
	menace export --format "$format"
	assert_status 0
done
