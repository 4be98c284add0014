#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# A grandchild killed for want of memory is told, though the program ends with 0
#
# kernel gate

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/telemetry.sh"

need_telemetry
run_inside -m 32m -- touch 10
assert_eq "$(json .telemetry.counters.oom_victims)" 0 "victims"
run -q -m 32m --ro "$helper:/processes" -- sh -c '(/processes touch 100; true); exit 0'
assert_ge "$(json .telemetry.counters.oom_victims)" 1 "victims"
assert_books
