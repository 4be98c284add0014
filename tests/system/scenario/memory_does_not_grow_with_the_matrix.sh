#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Ten times as many cells take no more memory, with a store and without one, and each is told
#
# lane: soak (hundreds of cells; the number is the point)

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/limits.sh"
. "$repo/tests/lib/store.sh"
need_root
need_plain_build
check_leaks

# measure CELLS: KiB of the largest resident set
measure()
{
	rm -rf "$tmp/kept" && mkdir -m 700 "$tmp/kept" || fail "no new store"
	"$helpers/measure-rss" "$tmp/rss" "$MENACE" scenario run --scenarios normal -r $(($1 / 2)) -j 4 -s 3 \
		--json -- true >"$result" 2>"$tmp/stderr" || fail "status $? of $1 cells"
	assert_eq "$(json '[(.cells | map(.n)), (.cells | map(.per_copy[0].runs[0]))] | map(unique | length) | @json')" \
		"[$1,$1]" "cells and their runs"
	assert_eq "$(json '.scenarios[0].runs | map([.flag, .replicate]) | unique | length')" "$1" "runs of the scenario"
	cat "$tmp/rss"
}
grows_by_at_most()
{
	local few many

	few=$(measure 40) || exit 1
	many=$(measure 400) || exit 1
	assert_le $((many - few)) "$1" "KiB of 400 cells over the $few KiB of 40"
}
grows_by_at_most 1024
MENACE_STORE=none
grows_by_at_most 1024
