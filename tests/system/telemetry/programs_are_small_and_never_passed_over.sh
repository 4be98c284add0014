#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Each program of a set can be asked how many instructions the verifier walked through, and how
# often the kernel did not run it since it was running on that processor: what it would have
# told is lost without a trace elsewhere

. "$(dirname "$0")/../../lib/system.sh"
. "$repo/tests/lib/telemetry.sh"

need_telemetry
run_inside -- forks 200
assert_status 0
run_plain "$loader" programs
assert_status 0
echo "$stdout"
assert_eq "$(awk '{ print $1 }' <<<"$stdout" | grep -c -x -E 'life/on_(fork|exec|exit|exit_told)|sched/on_switch|crash/on_signal|net/on_connect4')" \
	6 "programs of the level default"
assert_eq "$(awk '{ print $1 }' <<<"$stdout" | sort | uniq -d)" "" "programs told twice"
assert_eq "$(awk '$3 != 0' <<<"$stdout")" "" "programs passed over"
# The kernel stops at a million; one that comes near is one that another kernel refuses.
assert_eq "$(awk '$2 < 10 || $2 > 100000' <<<"$stdout")" "" "programs that are tiny or huge"
purge_probes
run_plain "$loader" programs
assert_eq "$status $stdout" "0 " "without a set"
