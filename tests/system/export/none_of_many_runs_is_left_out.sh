#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# An export of 1700 runs of 16 KiB each has all of them, and needs less memory than they have
#

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/limits.sh"
. "$repo/tests/lib/store.sh"
. "$repo/tests/lib/export.sh"

need_root
need_program python3

many=1700
put_record 01m8grcbq84h03083qe5vt6fs0
"$MENACE" ingest >"$tmp/ignored"
edit "WITH RECURSIVE n(i) AS (SELECT 2 UNION ALL SELECT i + 1 FROM n WHERE i < $many)
	INSERT INTO chain (seq, kind, subject, body, hash)
		SELECT i, 'run', printf('r%09d', i), json_object('prev', printf('%064d', i - 1), 'time_us', i),
		printf('%064d', i) FROM n;
	INSERT INTO runs (run_id, program, argv, argv_bytes, argv_truncated, version, reason, exit_status,
		started_us) SELECT subject, 'x', '[\"x\"]', 2, 0, '1', 'exited', 0, 1795835986000000 + seq
		FROM chain WHERE seq > 1;
	INSERT INTO links (run_id, n, kind, body, hash) SELECT subject, 0, 'run',
		json_object('data', json_object('run_id', subject, 'name', printf('%.*c', 16384, 'x'))), hash FROM chain WHERE seq > 1"

# export_measured LINES FORMAT: as many lines, in less than 24 MiB.
export_measured()
{
	"$helpers/measure-rss" "$tmp/rss" "$MENACE" export --format "$2" >"$tmp/exported" || fail "export of $2: $?"
	assert_eq "$(wc -l <"$tmp/exported")" "$1" "lines of $2"
	grep -q -a __asan_init "$MENACE" || assert_le "$(<"$tmp/rss")" 24576 "KiB in use by $2"
}

export_measured "$many" jsonl
assert_ge "$(stat -c %s "$tmp/exported")" $((many * 16384)) "bytes exported"
export_measured $((many * 2 + 27)) cef
