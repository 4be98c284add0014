#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# What another build pinned goes when this one is loaded, if no run has used it for an hour;
# a purge takes what no run uses

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/telemetry.sh"

need_telemetry
need_file "$MENACE"
set=$(list_sets)

# make_other NAME AGE: a set of another build, of which a run ended so long ago.
make_other()
{
	mkdir -p "$MENACE_BPF_DIR/$1"/{s0,s1,life}
	touch -d "$2 ago" "$MENACE_BPF_DIR/$1"/{s0,s1}
}

make_other menace-0123456789abcdef-1 "61 minutes"
make_other menace-00000000000000aa-2 "50 minutes" # not an hour before this test is over
make_other menace-00000000000000bb-2 "61 minutes"
exec {lock}<"$MENACE_BPF_DIR/menace-00000000000000bb-2/s1"
flock -n "$lock" || fail "cannot lock"
mkdir "$MENACE_BPF_DIR/menacing-others"
run -q -- true
assert_eq "$(list_sets | wc -l)" 4 "sets before one is loaded"
rm -r "$set/ready-default" "$set/sched"
run -q -- true
assert_status 0
assert_processes 2 1
assert_eq "$(list_sets | sort | tr '\n' ' ')" \
	"$(printf '%s\n' "$set" "$MENACE_BPF_DIR"/menace-00000000000000{aa,bb}-2 | sort | tr '\n' ' ')" "sets that are left"
exec {lock}<&-
assert_absent "$MENACE_BPF_DIR/new-menace-0123456789abcdef-1"

# By hand: nothing that was just used, then everything but what a run has.
run_plain "$MENACE" purge --probes --idle 1h
assert_status 0
assert_eq "$stdout" "1 sets of probes removed, 2 left"
"$MENACE_RUN" -q -- sleep 1000 &
pid=$!
is_observed() { [ -n "$("$loader" entries)" ]; }
wait_until 30 is_observed || fail "the run is not observed"
run_plain "$MENACE" purge --probes --json
assert_status 0
assert_eq "$stdout" '{"removed": 1, "left": 1}'
assert_eq "$(list_sets)" "$set" "the set of the run"
kill -TERM "$pid"
wait "$pid"
for words in "--probes --all" "--probes --dry-run" "--all --idle 1h"; do
	# shellcheck disable=SC2086 # words
	run_plain "$MENACE" purge --store "$tmp/store.db" $words
	assert_status 2
done
run_plain "$MENACE" purge --probes
assert_eq "$stdout" "1 sets of probes removed, 0 left"
"$loader" purge >/dev/null || fail purge
assert_eq "$(find "$MENACE_BPF_DIR" -name '*menace-[0-9a-f]*')" "" "what is left"
