#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# A purge of probes killed at any instant: the next start is observed as ever, and the next purge takes what is left
#
# lane: soak (kills at random instants)

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/telemetry.sh"

need_telemetry
need_file "$MENACE_HELPERS/kill-at-random"

# make_other NAME AGE: a set of another build, of which a run ended so long ago.
make_other()
{
	mkdir -p "$MENACE_BPF_DIR/$1"/{s0,s1,life}
	touch -d "$2 ago" "$MENACE_BPF_DIR/$1"/{s0,s1}
}

seed=${MENACE_KILL_SEED:-$RANDOM$RANDOM}
echo "seed $seed"
for ((i = 0; i < (MENACE_SLOWDOWN > 1 ? 5 : 20); i++)); do
	run -q -- true
	make_other menace-0123456789abcdef-1 "2 hours"
	"$MENACE_HELPERS/kill-at-random" 1 "$(scaled 20000)" $((seed + i)) "$loader" purge >/dev/null
	run -q -- true
	assert_status 0
	assert_processes 2 1
done
"$loader" purge >/dev/null || fail purge
assert_eq "$(find "$MENACE_BPF_DIR" -name '*menace-[0-9a-f]*')" "" "what is left"
