#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# The program and 200 others one after the other are 201 execs, each an event
#
# kernel gate

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/telemetry.sh"

need_telemetry
# The rings have room for all of them, should whoever reads them get no processor.
run_inside -- execs 200 /bin/true
assert_status 0
# Init and the program are processes too.
assert_processes 202 201
assert_eq "$(json .telemetry.complete)" true complete
assert_eq "$(json 'execs | length')" 201 "execs listed"
assert_eq "$(json '[execs[1:][] | .argv == ["/bin/true"] and .exe == "/bin/true"] | all')" true
assert_eq "$(json '[execs[].inner_pid] | unique | length')" 201 "processes that exec"
assert_eq "$(json '[execs[].boot_ns] | . == sort')" true "order of time"
