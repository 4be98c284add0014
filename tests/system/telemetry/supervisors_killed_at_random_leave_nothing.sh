#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# menace-run killed at random instants: after the next start no group of the dead is in the maps
#
# lane: soak (kills at random instants)

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/telemetry.sh"

need_telemetry
need_file "$MENACE_HELPERS/kill-at-random"
check_leaks
seed=${MENACE_KILL_SEED:-$RANDOM$RANDOM}
echo "seed $seed"
run_plain "$MENACE_HELPERS/kill-at-random" $((MENACE_SLOWDOWN > 1 ? 20 : 100)) "$(scaled 50000)" "$seed" \
	"$MENACE_RUN" -q -- true :: "$MENACE_RUN" -q -- sleep 1000
assert_status 0
run -q -- true
assert_status 0
assert_processes 2 1
