#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Nor do threads get more

. "$(dirname "$0")/../../lib/system.sh"
. "$repo/tests/lib/limits.sh"

need_limits

run_helper --cpus 0.2 -- eat-cpu 200 1 4
assert_at_ease
assert_ge "$(json .usage.wall_us)" 800000 "wall clock"
assert_ge "$(json .usage.cpu.throttled_us)" 1 "throttled"
