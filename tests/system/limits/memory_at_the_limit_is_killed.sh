#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Exactly the limit leaves no page for the program itself
# security
# kernel gate

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/limits.sh"

need_limits

run_helper -m 32M -- eat-memory anon 33554432
assert_oom
assert_eq "$stdout" ""
assert_eq "$(json .exit.signal_name)" KILL "signal"
assert_eq "$(json .exit.code)" null "code"
assert_ge "$(json .usage.memory.peak_bytes)" 32505856 "peak"
assert_le "$(json .usage.memory.peak_bytes)" 33554432 "peak"
