#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# The host's name and the store's path are bytes that need not be UTF-8: the run is kept all the
# same, the result has the exact path, and what is damaged in such a spool is put aside
#
# sanitizers

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/store.sh"

need_root
need_program unshare python3

store=$tmp/kept/$'a\xff.db'
export MENACE_STORE=$store

run -- sh -c 'exit 3'
assert_status 3
assert_eq "$stderr" ""
assert_eq "$(json '"\(.store.state) \(.store.path) \(.store.spool)"')" \
	"queued $tmp/kept/a\\xff.db $tmp/kept/a\\xff.db.spool"
assert_eq "$(json .store.path_base64 | base64 -d)" "$store"
printf '\nmr1 5' >>"$store.spool"

run_plain unshare --uts python3 -c '
import os, socket, sys
socket.sethostname(b"h\xff")
os.execv(sys.argv[1], sys.argv[1:])' "$MENACE_RUN" -- sh -c 'exit 4'
assert_status 4

menace ingest
assert_status 0
assert_eq "$stdout" "2 taken in, 0 known already, 1 put aside, 0 files in use"
menace query "SELECT host FROM runs WHERE exit_code = 4"
assert_eq "$(tail -n 1 "$tmp/stdout")" 'h\xff'
menace query "SELECT source FROM store_losses"
assert_match "$(tail -n 1 "$tmp/stdout")" '^a\?\.db\.spool\.[0-9a-f]{16}:[0-9]+$' "source"
assert_verified
