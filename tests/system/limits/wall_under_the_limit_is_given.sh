#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# A program that ends in time keeps its own status
# security

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/limits.sh"

need_limits

run -t "$(scaled 60)" -- sh -c 'sleep 0.5; exit 5'
assert_ended 5 exited
assert_ran_for 500
