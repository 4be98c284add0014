#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Exec by a thread that is not the first: one exec, one end, and it says so
#
# kernel

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/telemetry.sh"

need_telemetry
run_inside -- thread-exec /bin/true
assert_status 0
assert_processes 2 2
assert_eq "$(json '[execs[].from_thread] | tostring')" "[false,true]"
assert_eq "$(json 'execs[1].argv[0]')" /bin/true
