#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# The program and 500 others one after the other are 501 execs, each an event

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/telemetry.sh"

need_telemetry
# Whoever reads the events may get no processor before there is no room for more: that is told, and all are counted.
for _ in 1 2 3 4 5; do
	run_inside -t "$(scaled 60)" -- execs 500 /bin/true
	assert_status 0
	# Init and the program are processes too.
	assert_processes 502 501
	[ "$(json .telemetry.complete)" != true ] || break
done
assert_eq "$(json .telemetry.complete)" true complete
assert_eq "$(json 'execs | length')" 501 "execs listed"
assert_eq "$(json '[execs[1:][] | .argv == ["/bin/true"] and .exe == "/bin/true"] | all')" true
assert_eq "$(json '[execs[].inner_pid] | unique | length')" 501 "processes that exec"
assert_eq "$(json '[execs[].boot_ns] | . == sort')" true "order of time"
