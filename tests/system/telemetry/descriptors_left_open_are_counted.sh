#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Descriptors beyond the standard three that the main program had open at its end are counted, those of
# others are not; where it is not known the number is null

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/telemetry.sh"

need_telemetry
need_system_program python3
need_file "$MENACE"
cat >"$tmp/open.py" <<'PY'
import os, sys
for fd in range(3, 300):
    try:
        os.close(fd)
    except OSError:
        pass
if sys.argv[2:] == ["child"]:
    if os.fork() == 0:
        for i in range(7):
            os.open("/dev/null", os.O_RDONLY)
        os._exit(0)
    os.wait()
for i in range(int(sys.argv[1])):
    os.open("/dev/null", os.O_RDONLY)
os._exit(0)
PY
leak() { run -q --store "$tmp/store.db" --ro "$tmp/open.py:/open.py" -- python3 /open.py "$@"; }
leaked() { json .telemetry.counters.fds_leaked; }

for n in 0 5 61 62 100 253; do
	leak "$n"
	assert_status 0
	assert_eq "$(leaked)" "$n" "descriptors"
	assert_eq "$(json .telemetry.complete)" true "complete"
done
leak 2 child
assert_eq "$(leaked)" 2 "without those of a child"
id=$(json .run_id)
leak 254
assert_eq "$(leaked)" null "more than can be counted"
run -q -- sh -c 'exec <&- >&- 2>&-'
assert_eq "$(leaked)" 0 "the standard three closed"
run -q -- /no/such/program
assert_eq "$(leaked)" null "of a program that never began"
run -q --telemetry default,-exit -- true
assert_eq "$(leaked)" null "without the probe"

run_plain "$MENACE" query --store "$tmp/store.db" \
	"SELECT value FROM counters WHERE name = 'fds_leaked' AND run_id = '$id'"
assert_eq "$(tail -n 1 <<<"$stdout")" 2 "in the store"
