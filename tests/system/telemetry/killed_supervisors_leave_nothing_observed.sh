#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# menace-run killed while its program runs: after the next start no group of the dead is in the maps

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/telemetry.sh"
. "$repo/tests/lib/runs.sh"

need_telemetry
check_leaks

"$MENACE_RUN" -q -- sleep 1000 &
pid=$!
is_observed() { [ -n "$("$loader" entries)" ] && run_id_of "$pid" >/dev/null; }
wait_until 30 is_observed || fail "the run is not observed"
kill -KILL "$pid"
wait "$pid" 2>/dev/null
assert_ne "$("$loader" entries)" "" "entry of the dead"
run -q -- true
assert_status 0
assert_processes 2 1
