#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Every byte of 1 GiB goes through, and the supervisor stays under 4 MiB
# lane: soak (a gigabyte)

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/limits.sh"

need_limits
check_leaks

need_plain_build

bytes=1073741824
[ "$MENACE_SLOWDOWN" -eq 1 ] || bytes=67108864
passed=$("$helpers/measure-rss" "$tmp/rss" "$MENACE_RUN" -t unlimited -o "$result" \
	--ro "$helpers:/helpers" -- /helpers/eat-output "$bytes" | wc -c)
assert_eq "$passed" "$bytes" "bytes passed on"
assert_eq "$(json .stdout.bytes)" "$bytes" "bytes counted"
assert_eq "$(json .stdout.head | wc -c)" 65537 "bytes kept of the head"
assert_eq "$(json .stdout.tail | wc -c)" 65537 "bytes kept of the tail"
assert_le "$(cat "$tmp/rss")" 4095 "KiB of the supervisor"
