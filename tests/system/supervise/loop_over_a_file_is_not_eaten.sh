#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# The mistake that everybody makes once: a command in a while-read loop

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/limits.sh"

need_limits

printf '%s\n' a b c >"$tmp/lines"
while read -r line; do
	"$MENACE_RUN" echo "$line"
done <"$tmp/lines" >"$tmp/stdout"
assert_eq "$(cat "$tmp/stdout")" $'a\nb\nc'
