#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# A loader killed at any instant of its work: the next start makes a whole set of what it left
#
# lane: soak (kills at random instants)

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/telemetry.sh"

need_telemetry
need_file "$MENACE_HELPERS/kill-at-random"

assert_observed()
{
	run -q -- true
	assert_status 0
	assert_eq "$(json .telemetry.level)" default "level ($1)"
	assert_processes 2 1
	assert_eq "$(find "$MENACE_BPF_DIR" -name 'new-*')" "" "half-made sets ($1)"
}

seed=${MENACE_KILL_SEED:-$RANDOM$RANDOM}
echo "seed $seed"
for ((i = 0; i < (MENACE_SLOWDOWN > 1 ? 5 : 20); i++)); do
	"$loader" purge >/dev/null || fail "purge"
	"$MENACE_HELPERS/kill-at-random" 1 "$(scaled 100000)" $((seed + i)) "$loader" load default >/dev/null
	assert_observed "seed $((seed + i))"
done
