#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Four processes share the fifth of a CPU that one would have

. "$(dirname "$0")/../../lib/system.sh"
. "$repo/tests/lib/limits.sh"

need_limits

run_helper --cpus 0.2 -- eat-cpu 50 4
assert_at_ease
assert_ge "$(json .usage.wall_us)" 800000 "wall clock"
assert_ge "$(json .usage.cpu.throttled_us)" 1 "throttled"
