#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# tally, a shell pipeline that takes fields of a service's answers by their places, under all canonical profiles:
# each one happens, schema_drift alone finds that, and by the same seed all is the same again
#
# lane: soak (minutes; a hundred copies at once, and profiles that are about time)
# minutes 15

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/store.sh"
. "$repo/tests/lib/projects.sh"
need_system_program curl

assert_found tally 33 schema_drift 'step "count": exited with status 1'
assert_eq "$(json '[.cells[] | select(.arm == "on" and .scenario == "schema_drift") | .said] | unique[]')" \
	"not all votes were counted"
assert_ge "$(json '.cells[] | select(.arm == "on" and .scenario == "high_latency_api" and .level == "low") |
	.wall_ms | floor')" 900 "ms with a link of 200 ms each way"
