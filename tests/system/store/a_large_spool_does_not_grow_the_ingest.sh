#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Sixty-four times the records are taken in with no more memory
#

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/limits.sh"
. "$repo/tests/lib/store.sh"
need_plain_build

# ingest: KiB of the largest resident set
ingest()
{
	"$helpers/measure-rss" "$tmp/rss" "$MENACE" ingest >"$tmp/stdout" 2>"$tmp/stderr" || fail "status $?"
	cat "$tmp/rss"
}

yes '{"schema":"menace.spec/1","program":["true"]}' | head -n 20 |
	"$MENACE_RUN" -q --batch >"$tmp/results" || fail "no runs"
assert_eq "$(wc -l <"$tmp/results")" 20
cp "$store.spool" "$tmp/spool"
bytes=$(stat -c %s "$tmp/spool")
assert_ge "$bytes" $((128 << 10)) "bytes of records"
few=$(ingest) || exit 1
for ((i = 0; i < 64; i++)); do
	cat "$tmp/spool"
done >"$store.spool"
chmod 600 "$store.spool"
many=$(ingest) || exit 1
assert_contains "$(cat "$tmp/stdout")" "$((64 * 20)) known already"
assert_le $((many - few)) 2048 "KiB of $((64 * bytes >> 10)) KiB of records over the $few KiB of one in 64"

# Nor is what is new kept in memory, beyond what reading takes.
rm -rf "$store"*
yes '{"schema":"menace.spec/1","program":["true"]}' | head -n 200 |
	"$MENACE_RUN" -q --batch >"$tmp/results" || fail "no runs"
new=$(ingest) || exit 1
assert_contains "$(cat "$tmp/stdout")" "200 taken in"
"$helpers/measure-rss" "$tmp/rss" "$MENACE" runs -n 1 >"$tmp/stdout" || fail "runs"
assert_le $((new - $(cat "$tmp/rss"))) 2048 "KiB of 200 new records over those of a look"
