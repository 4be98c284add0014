#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# A program that now and then says something is not idle

. "$(dirname "$0")/../../lib/system.sh"
. "$repo/tests/lib/limits.sh"

need_limits

run --idle-timeout "$(scaled 500)ms" -- sh -c 'for i in 1 2 3 4 5 6; do sleep 0.2; echo $i; done'
assert_at_ease
assert_eq "$(tail -n 1 "$tmp/stdout")" 6
