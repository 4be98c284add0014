#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Every byte of 64 MiB goes through, and the supervisor stays under 4 MiB

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/limits.sh"

need_limits
need_plain_build

bytes=67108864
passed=$("$helpers/measure-rss" "$tmp/rss" "$MENACE_RUN" -t unlimited -o "$result" \
	--ro "$helpers:/helpers" -- /helpers/eat-output "$bytes" | wc -c)
assert_eq "$passed" "$bytes" "bytes passed on"
assert_eq "$(json '"\(.stdout.bytes) \(.stdout.head | utf8bytelength) \(.stdout.tail | utf8bytelength)"')" "$bytes 65536 65536" \
	"bytes counted, kept of the head and of the tail"
assert_le "$(cat "$tmp/rss")" 4095 "KiB of the supervisor"
