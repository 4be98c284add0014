#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Whatever a killed loader left, the next start makes a whole set; what is not ours stays

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/telemetry.sh"

need_telemetry
set=$(list_sets)

assert_observed()
{
	run -q -- true
	assert_status 0
	assert_eq "$(json .telemetry.level)" default "level ($1)"
	assert_processes 2 1
	assert_eq "$(find "$MENACE_BPF_DIR" -name 'new-*')" "$MENACE_BPF_DIR/new-foreign" "half-made sets ($1)"
}

# Between the maps and the programs.
"$loader" purge >/dev/null || fail "purge"
mkdir -p "$MENACE_BPF_DIR/new-${set##*/}/s0" "$MENACE_BPF_DIR/new-menace-other" "$MENACE_BPF_DIR/new-foreign"
assert_observed "maps only"

# While a level was being loaded.
rmdir "$set/ready-default"
find "$set/sched" -type f -delete
rmdir "$set/sched"
mkdir "$set/new-sched"
assert_observed "one object"
assert_eq "$(json '[.telemetry.histograms[0].buckets[].count] | add > 0')" true "run times"
