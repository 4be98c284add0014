#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Whatever ends a scan or a run, Ctrl-C or SIGKILL, no file and no process is left of it, and the next one
# works

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/store.sh"
. "$repo/tests/lib/runs.sh"
need_root
need_cgroups
need_program env pgrep
need_system_program python3
check_leaks

export TMPDIR=$tmp/temporary
mkdir "$TMPDIR" "$tmp/slow" "$tmp/r"
# Seconds for the parser, and an hour for a section.
python3 - "$tmp/slow" <<'PY'
import sys
for i in range(6):
    with open("%s/f%d.py" % (sys.argv[1], i), "w") as f:
        f.write("y = %d\n" % i + "x\n" * 500000)
PY
printf 'import time\ndef f(): return 1\ndef waits(): time.sleep(3600)\n' >"$tmp/r/a.py"

has_run()
{
	runner=$(pgrep -P "$pid" -x menace-run | head -n 1) && [ -n "$runner" ] && run_id_of "$runner" >"$tmp/id"
}
is_gone()
{
	! kill -0 "$runner" 2>/dev/null && ! grep -q -s "$(cat "$tmp/id")" /proc/[0-9]*/cgroup
}
# hit SIGNAL COMMAND...: sent when it has a run that lives; sets $status.
hit()
{
	local signal=$1

	shift
	rm -rf "$store.sections" # nothing that an earlier one found
	env --default-signal=INT "$MENACE" "$@" >"$tmp/stdout" 2>"$tmp/stderr" &
	pid=$!
	wait_until 50 has_run || fail "$* makes no run"
	kill -s "$signal" "$pid" 2>/dev/null
	wait "$pid" 2>/dev/null
	status=$?
}
# end_with SIGNAL STATUS COMMAND...: all of it goes.
end_with()
{
	local signal=$1 expected=$2 runner pid

	shift 2
	hit "$signal" "$@"
	assert_eq "$status" "$expected" "status after SIG$signal of $1 $2"
	wait_until 20 is_gone || fail "a run is left of $* after SIG$signal"
	assert_eq "$(ls -A "$TMPDIR")" "" "left of $1 $2 after SIG$signal"
	assert_eq "$(find "$store.sections" -type f ! -name '*.json' 2>/dev/null)" "" "left in the cache"
}
for signal in INT:130 TERM:143 KILL:137; do
	end_with "${signal%:*}" "${signal#*:}" sections scan "$tmp/slow"
	end_with "${signal%:*}" "${signal#*:}" sections run "$tmp/r" a.py:waits --timeout 1h
	menace sections run "$tmp/r" a.py:f --json
	assert_status 0
	assert_eq "$(gojq -r '.sections[0].outcome.value' <<<"$stdout")" 1
done
assert_eq "$(ls -A "$TMPDIR")" "" "left of whole runs"
