#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Each of the shipped hostile inputs, given to menace itself wherever it reads a document: it is refused or taken
# as the data that it is; nothing dies of it, and nothing is executed
# security

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/store.sh"
. "$repo/tests/lib/hostile.sh"

need_root
make_inputs

for id in "${ids[@]}"; do
	input=$tmp/inputs/$id
	if [ -s "$input" ]; then
		refuses "$id" "$MENACE_RUN" --spec "$input"
		refuses "$id" "$MENACE_RUN" --policy "$input" -- true
		refuses "$id" "$MENACE" flow run "$input"
	fi
	answers "$id" "$MENACE_RUN" --batch
	answers "$id" "$MENACE_RUN" --preset "$input" -- true
	answers "$id" "$MENACE" preset check "$input"
done
nothing_was_executed
