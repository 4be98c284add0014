#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# The group's clock and the kernel's sum over processes differ by set-up at most
# security

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/limits.sh"

need_limits

run_helper -- eat-cpu 400 2
assert_at_ease
usage=$(json .usage.cpu.usage_us)
assert_ge "$usage" 800000 "CPU time"
assert_ge "$(json .usage.cpu.rusage_us)" 780000 "CPU time by rusage"
assert_eq "$(json .usage.cpu.source)" cpu.stat "source"
assert_eq "$(json .usage.cpu.difference_us)" $((usage - $(json .usage.cpu.rusage_us))) "difference"
assert_ge "$(json .usage.cpu.difference_us)" $((-$(scaled 20000))) "difference"
assert_le "$(json .usage.cpu.difference_us)" "$(scaled 100000)" "difference"
parts=$(json '.usage.cpu.user_us + .usage.cpu.system_us')
assert_ge "$parts" $((usage - 10000)) "user and system"
assert_le "$parts" $((usage + 10000)) "user and system"
