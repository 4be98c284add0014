#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# A twentieth of a processor is that for one process, for four of them and for four threads: they are held
# back by the kernel, and take as long as the share says
# security
# kernel

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/limits.sh"

need_limits

run_helper --cpus 0.05 -t "$(scaled 60)" -- eat-cpu 50
assert_held_back 1000
assert_eq "$(json .limits.cpus)" 0.05 "limit"
assert_ge "$(json .usage.cpu.usage_us)" 50000 "CPU time"
run_helper --cpus 0.05 -t "$(scaled 60)" -- eat-cpu 13 4
assert_held_back 1000
run_helper --cpus 0.05 -t "$(scaled 60)" -- eat-cpu 50 1 4
assert_held_back 1000
