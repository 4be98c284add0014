#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# What a run costs the host while it lasts

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/limits.sh"

need_limits

need_plain_build

"$helpers/measure-rss" "$tmp/rss" "$MENACE_RUN" --ro "$helpers:/helpers" -- \
	/helpers/eat-memory anon 0 >"$tmp/stdout"
assert_eq "$(cat "$tmp/stdout")" "ate 0"
assert_le "$(cat "$tmp/rss")" 4095 "KiB of the supervisor"
