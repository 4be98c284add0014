#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Each program of a set can be asked how many instructions the verifier walked through, and how
# often the kernel did not run it since it was running on that processor: what it would have
# told is lost without a trace elsewhere, so the books of each run have it
#
# kernel

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/telemetry.sh"

need_telemetry
for level in basic default full syscalls; do
	run_inside --telemetry "$level" --net loopback -- forks 200
	assert_status 0
	assert_eq "$(json .telemetry.books.programs_passed_over)" 0 "programs passed over at level $level"
done
# Several of one process of ours look at the same programs.
printf '{"schema": "menace.spec/1", "program": ["true"]}\n%.0s' 1 2 3 >"$tmp/specs"
run_plain "$MENACE_RUN" -q --batch <"$tmp/specs"
assert_status 0
assert_eq "$(gojq -s -c 'map(.telemetry | [.books.programs_passed_over, .complete])' "$tmp/stdout")" \
	'[[0,true],[0,true],[0,true]]' "programs passed over, runs of a batch"
"$loader" purge >/dev/null || fail "purge"
run_inside --net loopback -- forks 200
assert_status 0
run_plain "$loader" programs
assert_status 0
echo "$stdout"
assert_eq "$(awk '{ print $1 }' <<<"$stdout" | grep -c -x -E '(life|ends)/on_(fork|exec|exit|exit_told)|sched/on_switch|crash/on_signal|net/on_connect4')" \
	6 "programs of the level default"
assert_eq "$(awk '{ print $1 }' <<<"$stdout" | sort | uniq -d)" "" "programs told twice"
assert_eq "$(awk '$3 != 0' <<<"$stdout")" "" "programs passed over"
# The kernel stops at a million; one that comes near is one that another kernel refuses.
assert_eq "$(awk '$2 < 10 || $2 > 100000' <<<"$stdout")" "" "programs that are tiny or huge"
# The time of a first load goes with all of them together.
assert_le "$(awk '{ n += $2 } END { print n }' <<<"$stdout")" 12000 "instructions of the level default"
# Of two ways to a fact one is there.
assert_eq "$(grep -c -E '/on_exit(_told)? ' <<<"$stdout")" 1 "ways to an end"
purge_probes
run_plain "$loader" programs
assert_eq "$status $stdout" "0 " "without a set"
