#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Processes that had ended and that the main one never waited for are counted when it ends; where that
# cannot be known the number is null, with the reason

. "${0%/*}/../../lib/system.sh"

need_root
need_cgroups
need_system_program python3
need_file "$MENACE"
cat >"$tmp/forks.py" <<'PY'
import os, sys
unreaped, reaped, orphans = map(int, sys.argv[1:])
def make(n):
    pids = []
    for i in range(n):
        pid = os.fork()
        if pid == 0:
            os._exit(0)
        pids.append(pid)
    return pids
def is_over(pid):
    os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
for pid in make(unreaped):
    is_over(pid)
for pid in make(reaped):
    os.waitpid(pid, 0)
# Handed to init while they live: it waits for them long before the end.
for i in range(orphans):
    r, w = os.pipe()
    pid = os.fork()
    if pid == 0:
        pid = os.fork()
        if pid == 0:
            os.close(w)
            os.read(r, 1)
            os._exit(0)
        print(pid, flush=True, file=open(f"/tmp/{i}", "w"))
        os._exit(0)
    os.waitpid(pid, 0)
    os.close(w)
    orphan = int(open(f"/tmp/{i}").read())
    try:
        while True:
            os.kill(orphan, 0)
    except ProcessLookupError:
        pass
PY
count() { json '[.usage.pids.unreaped, .usage.pids.unreaped_why] | tostring'; }
forks() { run -q -t "$(scaled 30)" --store "$tmp/store.db" --ro "$tmp/forks.py:/forks.py" -- python3 /forks.py "$@"; }

forks 0 5 0
assert_status 0
assert_eq "$(count)" '[0,null]' "all were waited for"
forks 3 2 4
assert_status 0
assert_eq "$(count)" '[3,null]' "three were not"
assert_eq "$(json .leftover_killed)" 0 "left over"
id=$(json .run_id)
run -q -- true
assert_eq "$(count)" '[0,null]' "of none"
run -q -t 0.3 -- sleep 60
assert_eq "$(count)" '[null,"the main process was ended with all others, or did not begin"]' "without an end of its own"
run -q -- /no/such/program
assert_eq "$(count)" '[null,"the main process was ended with all others, or did not begin"]' "without a beginning"
run_plain "$MENACE" query --store "$tmp/store.db" \
	"SELECT pids_unreaped || ' ' || clock_skew_ns FROM usage JOIN runs USING (run_id) WHERE run_id = '$id'"
assert_eq "$(tail -n 1 <<<"$stdout")" "3 0" "in the store"
