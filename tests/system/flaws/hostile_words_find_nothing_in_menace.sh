#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Each of the shipped hostile inputs, given to menace-run as a word of its command: it is refused or taken as the
# data that it is; nothing dies of it, nothing is executed, and what the program gets is the same bytes
# security

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/store.sh"
. "$repo/tests/lib/hostile.sh"

need_root
make_inputs

for id in "${ids[@]}"; do
	word_of "$id"
	answers "$id" "$MENACE_RUN" -q --store none --env WORD="$word" -- sh -c 'printf %s "$WORD" "$1"' sh "$word"
	[ "$status" -eq 0 ] || fail "$id as an argument: $(tail -c 500 "$tmp/err")"
	cmp -s "$tmp/out" <(printf %s "$word$word") || fail "$id: other bytes come to the program"
	refuses "$id" "$MENACE_RUN" --memory "x$word" -- true
	answers "$id" "$MENACE_RUN" --hostname "$word" -- true
done
nothing_was_executed
