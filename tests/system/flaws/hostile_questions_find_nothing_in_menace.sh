#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Each of the shipped hostile inputs, asked of the store: it is refused or taken as the data that it is, nothing
# dies of it, and the record stays whole
# security

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/store.sh"
. "$repo/tests/lib/hostile.sh"

need_root
make_inputs

"$MENACE_RUN" -q -- true || fail "no run to ask for"
for id in "${ids[@]}"; do
	word_of "$id"
	answers "$id" "$MENACE" query "$word"
	answers "$id" "$MENACE" show "$word"
done
assert_eq "$("$MENACE" query 'SELECT count(*) AS n FROM runs' --json)" '{"n":1}' "runs in the store"
nothing_was_executed
