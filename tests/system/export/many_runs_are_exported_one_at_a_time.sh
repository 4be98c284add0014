#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# An export of 100,000 runs holds one at a time in memory, none is left out, and on a terminal it tells
# how far it is
#
# lane: soak (it is about the volume)

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/store.sh"
. "$repo/tests/lib/export.sh"

need_root
need_program python3

many=$((100000 / MENACE_SLOWDOWN / MENACE_SLOWDOWN))
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
		json_object('data', json_object('run_id', subject)), hash FROM chain WHERE seq > 1"

# export_measured LINES FORMAT: runs in a terminal of its own; sets $peak, in KiB, and $told.
export_measured()
{
	run_plain python3 - "$MENACE" "$2" "$tmp/exported" <<'END'
import os, pty, resource, sys
pid, terminal = pty.fork()
if pid == 0:
    os.dup2(os.open(sys.argv[3], os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), 1)
    os.environ["TERM"] = "vt100"
    os.execv(sys.argv[1], [sys.argv[1], "export", "--format", sys.argv[2]])
told = b""
while True:
    try:
        piece = os.read(terminal, 4096)
    except OSError:
        break
    if not piece:
        break
    told += piece
status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
print(status, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss, repr(told))
END
	assert_eq "${stdout%% *}" 0 "exit status"
	assert_eq "$(wc -l <"$tmp/exported")" "$1" "lines of $2"
	peak=$(cut -d' ' -f2 <<<"$stdout")
	told=$(cut -d' ' -f3- <<<"$stdout")
	[ "$MENACE_SLOWDOWN" = 3 ] || assert_le "$peak" 24576 "KiB in use by $2"
}

export_measured "$many" jsonl
export_measured $((many * 2 + 27)) cef
assert_match "$told" "\\\\rexporting runs: [0-9]+ of $many \\([0-9]+ %\\).*\\\\r +\\\\r'$" "progress"
