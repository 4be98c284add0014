#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# A fifo, a folder, a device or a link in the place of a store: nobody waits for it, nothing is made
# beside it, the run is as ever and its record goes where it can; nor does one in the place
# of a piece of the spool keep other records out
#
# security
# sanitizers

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/store.sh"

need_root
need_program mkfifo mknod

run -- true
assert_eq "$(count_runs)" 1
mkfifo "$tmp/kept/fifo"
mkdir "$tmp/kept/folder"
mknod "$tmp/kept/device" c 1 3
ln -s menace.db "$tmp/kept/link"
ln -s nothing "$tmp/kept/dangling"
for kind in fifo folder device link dangling; do
	path=$tmp/kept/$kind
	run --store "$path" -- sh -c 'exit 4'
	assert_status 4
	refuge=$(json .store.spool)
	at_exit rm -f "$refuge"
	assert_match "$refuge" '^/run/menace/spool/' "refuge of a $kind"
	assert_contains "$stderr" "store $path is not a regular file: choose another with --store"
	assert_absent "$path.spool"
	for command in runs ingest "audit verify" "query 'SELECT 1'" "export --format jsonl"; do
		eval "run_plain timeout $(scaled 20) \"\$MENACE\" $command --store \"\$path\""
		[ "$kind" = link ] && [ "$command" != ingest ] && continue # may be read, when told so
		assert_status 125
		case $kind:$command in
		dangling:ingest | *:ingest) assert_contains "$stderr" "store $path is not a regular file" ;;
		dangling:*) assert_contains "$stderr" "there is no store $path yet" ;;
		*) assert_contains "$stderr" "store $path is not a regular file" ;;
		esac
	done
done
assert_absent "$tmp/kept/nothing"

# Somebody else's, whose records nobody could ever take in.
cp "$store" "$tmp/kept/theirs"
chown 65534 "$tmp/kept/theirs"
run --store "$tmp/kept/theirs" -- true
assert_status 0
at_exit rm -f "$(json .store.spool)"
assert_contains "$stderr" "store $tmp/kept/theirs belongs to user 65534, not to you"
assert_absent "$tmp/kept/theirs.spool"

run -- sh -c 'exit 5'
mkfifo "$store.spool.0000000000000000"
ln -s "$tmp/kept/nothing" "$store.spool.0000000000000001"
run -- sh -c 'exit 6'
menace ingest
assert_status 125
assert_match "$stderr" "$store\.spool\.000000000000000(0 is not a file of ours|1: Too many levels of symbolic links)"
rm "$store.spool.0000000000000000"
menace runs --json
assert_status 0
assert_contains "$stderr" "open $store.spool.0000000000000001: Too many levels of symbolic links"
assert_not_contains "$stderr" "in use"
assert_eq "$(wc -l <"$tmp/stdout")" 3 "runs"
rm "$store.spool.0000000000000001"
menace ingest
assert_eq "$status:$stdout" "0:0 taken in, 0 known already, 0 put aside, 0 files in use"
assert_verified
