#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Sixty-four times the records are taken in with no more memory
#

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/limits.sh"
. "$repo/tests/lib/store.sh"
need_plain_build
need_root
need_program python3

# ingest: KiB of the largest resident set
ingest()
{
	"$helpers/measure-rss" "$tmp/rss" "$MENACE" ingest >"$tmp/stdout" 2>"$tmp/stderr" || fail "status $?"
	cat "$tmp/rss"
}

run -- true
line=$(grep -a '^mr1 ' "$store.spool")
# spool_of RUNS COPIES: the record as one of so many runs, each so often.
spool_of()
{
	python3 - "${line#mr1 * * }" "$(json .run_id)" "$@" >"$store.spool" <<-'END'
		import hashlib, sys
		payload, run, runs, copies = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
		for i in range(runs):
		    text = payload.replace(run, run[:-5] + "%05d" % i)
		    piece = "\nmr1 %d %s %s\n" % (len(text.encode()), hashlib.sha256(text.encode()).hexdigest(), text)
		    sys.stdout.write(piece * copies)
	END
	chmod 600 "$store.spool"
}

spool_of 20 1
bytes=$(stat -c %s "$store.spool")
assert_ge "$bytes" $((100 << 10)) "bytes of records"
few=$(ingest) || exit 1
assert_contains "$(cat "$tmp/stdout")" "20 taken in"
spool_of 20 64
many=$(ingest) || exit 1
assert_contains "$(cat "$tmp/stdout")" "$((64 * 20)) known already"
assert_le $((many - few)) 2048 "KiB of $((64 * bytes >> 10)) KiB of records over the $few KiB of one in 64"

# Nor is what is new kept in memory, beyond what reading takes.
rm -rf "$store"*
spool_of 200 1
new=$(ingest) || exit 1
assert_contains "$(cat "$tmp/stdout")" "200 taken in"
"$helpers/measure-rss" "$tmp/rss" "$MENACE" runs -n 1 >"$tmp/stdout" || fail "runs"
assert_le $((new - $(cat "$tmp/rss"))) 2048 "KiB of 200 new records over those of a look"
