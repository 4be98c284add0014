#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# A program that ends in time keeps its own status
# security

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/limits.sh"

need_limits

run -t "$(scaled 10)" -- sh -c 'sleep 0.5; exit 5'
assert_ended 5 exited
assert_ge "$(json .usage.wall_us)" 500000 "wall clock"
