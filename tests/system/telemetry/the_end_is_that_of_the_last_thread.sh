#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# A first thread that ends early does not end the process, and threads are no processes

. "$(dirname "$0")/../../lib/system.sh"
. "$repo/tests/lib/telemetry.sh"

need_telemetry
run_inside -- leader-first
assert_status 7
assert_processes 2 1
assert_eq "$(json .telemetry.counters.threads)" 1 threads
run_inside -- threads 300
assert_status 0
assert_processes 2 1
assert_eq "$(json .telemetry.counters.threads)" 300 threads
