#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Exec of a file in memory is seen, and told to be fileless

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/telemetry.sh"

need_telemetry
run_inside --level 2 -- memfd "/usr/bin/true"
assert_status 0
assert_processes 2 2
assert_eq "$(json .telemetry.counters.execs_fileless)" 1 "fileless execs"
assert_eq "$(json '[execs[].fileless] | tostring')" "[false,true]"
assert_eq "$(json 'execs[1].argv | tostring')" '["nameless"]'
