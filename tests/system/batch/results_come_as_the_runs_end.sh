#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# A result is there as soon as its run is over, while the input is still open
# and others run
#
# sanitizers

. "${0%/*}/../../lib/system.sh"

need_root

spec()
{
	printf '{"schema": "menace.spec/1", "name": "%s", "program": ["sh", "-c", "%s"]}\n' "$1" "$2"
}
mkfifo "$tmp/in" "$tmp/out"
"$MENACE_RUN" --batch -j 2 -t "$(scaled 120)" <"$tmp/in" >"$tmp/out" &
batch=$!
exec 5>"$tmp/in" 6<"$tmp/out"
spec slow 'sleep 1000' >&5
spec fast 'true' >&5
read -r -t "$(scaled 30)" -u 6 line || fail "no result while the input is open"
assert_eq "$(gojq -r .name <<<"$line")" fast "first"
spec next 'exit 4' >&5
read -r -t "$(scaled 30)" -u 6 line || fail "no second result"
assert_eq "$(gojq -r '"\(.name) \(.exit.code) \(.batch_index)"' <<<"$line")" "next 4 2" "second"
exec 5>&-
kill -TERM $batch
read -r -t "$(scaled 30)" -u 6 line || fail "no third result"
assert_eq "$(gojq -r .name <<<"$line")" slow "third"
wait $batch
assert_eq $? 143 "exit status"
