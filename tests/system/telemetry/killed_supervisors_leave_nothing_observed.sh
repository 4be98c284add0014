#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# menace-run killed at random instants: after the next start no group of the dead is
# in the maps

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/telemetry.sh"
. "$repo/tests/lib/runs.sh"

need_telemetry
need_file "$MENACE_HELPERS/kill-at-random"
check_leaks
seed=${MENACE_KILL_SEED:-$RANDOM$RANDOM}
echo "seed $seed"
run_plain "$MENACE_HELPERS/kill-at-random" $((MENACE_SLOWDOWN > 1 ? 20 : 100)) "$(scaled 50000)" "$seed" \
	"$MENACE_RUN" -q -- true :: "$MENACE_RUN" -q -- sleep 1000
assert_status 0

# One that certainly leaves an entry.
"$MENACE_RUN" -q -- sleep 1000 &
pid=$!
is_observed() { [ -n "$("$loader" entries)" ] && run_id_of "$pid" >/dev/null; }
wait_until 20 is_observed || fail "the run is not observed"
kill -KILL "$pid"
wait "$pid" 2>/dev/null
assert_ne "$("$loader" entries)" "" "entry of the dead"
run -q -- true
assert_status 0
assert_processes 2 1
