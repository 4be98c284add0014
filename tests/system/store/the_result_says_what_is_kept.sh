#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# store in the result: off, queued or failed; none of them changes the run
#
# sanitizers

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/store.sh"

need_root

run --store none -- sh -c 'exit 3'
assert_status 3
assert_eq "$(gojq -c .store "$result")" '{"state":"off"}'
assert_absent "$store.spool"

run -- sh -c 'exit 3'
assert_status 3
assert_eq "$(gojq -c .store "$result")" \
	"{\"path\":\"$store\",\"spool\":\"$store.spool\",\"state\":\"queued\",\"why\":null}"
assert_eq "$(wc -l <"$store.spool")" 2 "lines of the spool"

# The option wins over the variable; a relative path is one of the working directory.
cd "$tmp" || exit 1
run --store other.db -- true
assert_eq "$(json .store.path)" "$tmp/other.db"
[ -s "$tmp/other.db.spool" ] || fail "no spool"

# No folder: the store's is not made, the record waits in the refuge and both say so.
run --store "$tmp/no/such/x.db" -- sh -c 'echo out; exit 3'
at_exit rm -f "$(json .store.spool)"
assert_status 3
assert_eq "$stdout" out
assert_contains "$(json .store.why)" "folder $tmp/no/such: No such file or directory"
assert_contains "$stderr" "folder $tmp/no/such: No such file or directory (make it, or choose another"
assert_absent "$tmp/no"

# A folder that others can write is not trusted.
mkdir -m 777 "$tmp/open"
run --store "$tmp/open/x.db" -- true
at_exit rm -f "$(json .store.spool)"
assert_status 0
assert_contains "$(json .store.why)" "can be written by others"

chmod 1777 "$tmp/open"
run --store "$tmp/open/x.db" -- true
assert_status 0
assert_contains "$(json .store.why)" "can be written by others: make a folder of your own"
assert_absent "$tmp/open/x.db.spool"

run_plain "$MENACE_RUN" --store "" -- true
assert_refused "--store: unknown value \"\"; accepted: the path of a file, or none"
run_plain "$MENACE_RUN" --store "$tmp/" -- true
assert_refused "--store: unknown value"

# A run that could not be set up is kept as well; one that was refused never was a run.
run --root "$tmp/nothing" -- true
menace runs --json --reason setup_error
