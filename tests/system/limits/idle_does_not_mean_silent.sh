#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# A program that computes without a word is not idle

. "$(dirname "$0")/../../lib/system.sh"
. "$repo/tests/lib/limits.sh"

need_limits

run_helper --idle-timeout "$(scaled 500)ms" -- eat-cpu "$(scaled 1200)"
assert_at_ease
