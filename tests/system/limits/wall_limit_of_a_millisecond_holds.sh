#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# The smallest limit ends even a program that does nothing long
# security

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/limits.sh"

need_limits

run -t 1ms -- sleep 1001
assert_ended 124 wall_timeout wall
assert_ran_for 1
