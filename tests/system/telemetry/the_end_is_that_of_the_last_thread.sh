#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# A first thread that ends early does not end the process, and threads are no processes
#
# kernel

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/telemetry.sh"

need_telemetry
run_inside -- leader-first
assert_status 7
assert_processes 2 1
assert_eq "$(json .telemetry.counters.threads)" 1 threads
# The first of them is init, which goes by itself unless the supervisor is faster.
rows() { json '.telemetry.processes | map([.inner_pid, .exit_code])[1:] | tostring'; }
assert_eq "$(rows)" "[[2,7]]" "the process is one row, whichever thread was the last"
# Thread by thread: which of them is heard depends on the kernel, and wait() tells.
run_inside -- one-by-one
assert_eq "$(rows)" "[[2,$(json .exit.status)]]" "its end"
run_inside -- threads 300
assert_status 0
assert_processes 2 1
assert_eq "$(json .telemetry.counters.threads)" 300 threads
