#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# The store's file system is full: the run and its result are as ever, the record
# waits on another file system, and is taken in once there is room
#
# sanitizers

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/store.sh"

mount_kept size=512k
mkdir -p "$tmp/run"
run -- sh -c 'exit 5'
assert_status 5
assert_eq "$(count_runs)" 1
cat /dev/zero >"$tmp/kept/filler" 2>/dev/null

run -- sh -c 'echo out; exit 6'
assert_status 6
assert_eq "$stdout" out
assert_eq "$(json '"\(.reason) \(.exit.code) \(.store.state)"')" "exited 6 queued"
refuge=$(json .store.spool)
at_exit rm -f "$refuge"
assert_match "$refuge" '^/run/menace/spool/[0-9a-f]{16}\.spool$' "refuge"
assert_contains "$(json .store.why)" "No space left on device"
assert_contains "$stderr" "the run is kept in $refuge until the next boot: $store.spool: No space left"

# Still full: the database cannot take it, what is there can be read, nothing is lost.
menace runs --json
assert_status 0
assert_eq "$(wc -l <"$tmp/stdout")" 1 "runs"
assert_contains "$stderr" "what waits in the spool is not shown: "
menace ingest
assert_status 125
assert_contains "$stderr" "store $store "
[ -n "$(find /run/menace/spool -name "$(basename "$refuge")*")" ] || fail "the record is gone"

rm "$tmp/kept/filler"
menace ingest
assert_eq "$status:$stdout" "0:1 taken in, 0 known already, 0 put aside, 0 files in use"
assert_eq "$("$MENACE" runs --json --sort oldest | gojq -r .exit_code | tr '\n' ' ')" "5 6 "
assert_verified
assert_eq "$(find /run/menace/spool -name "$(basename "$refuge")*")" "" "files left"
