#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Each process of a run with its parent, its program and its end; also in the store,
# where what looks like a secret is redacted

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/telemetry.sh"

need_telemetry
run_plain "$MENACE_RUN" -q -o "$result" --store "$tmp/store.db" -- \
	sh -c '(/bin/true --password=hunter2; exit 3); /bin/false; kill -TERM $$'
assert_eq "$(json '.telemetry.processes | map([.inner_pid, .execs, .exe, .exit_code, .exit_signal]) | .[0] |= .[:3] | tostring')" \
	'[[1,0,null],[2,1,"/usr/bin/sh",null,15],[3,0,null,3,null],[4,1,"/bin/true",0,null],[5,1,"/bin/false",1,null]]'
# Init goes by itself when nobody is left, unless the supervisor is faster.
assert_match "$(json '.telemetry.processes[0] | [.exit_code, .exit_signal] | tostring')" '^\[(0,null|null,9)\]$' "end of init"
# Each parent is a row, but for that of init.
assert_eq "$(json '.telemetry.processes as $p | [$p[1:][] | [.parent_tgid, .parent_start_boot_ns]]
	- [$p[] | [.tgid, .start_boot_ns]] | length')" 0 "parents that are no process of the run"
assert_eq "$(json '[.telemetry.processes[] | .exit_boot_ns > .start_boot_ns] | all')" true "ends after beginnings"
assert_books

menace=${MENACE_RUN%/*}/menace
need_file "$menace"
run_plain "$menace" query --json --store "$tmp/store.db" \
	"SELECT count(*) || ' ' || sum(execs) || ' ' || sum(exe = '/bin/true' AND argv LIKE '%hunter2%') AS v FROM processes"
assert_status 0
assert_contains "$stdout" '"5 3 0"' "processes in the store"
run_plain "$menace" query --json --store "$tmp/store.db" \
	"SELECT (SELECT value FROM counters WHERE name = 'execs') || ' ' || (SELECT count(*) FROM events) || ' '
		|| (SELECT sum(object = '/bin/true' AND detail LIKE '%hunter2%') FROM events) || ' ' || (SELECT complete FROM runs) AS v"
assert_status 0
assert_contains "$stdout" '"3 3 0 1"' "events in the store"
