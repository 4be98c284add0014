#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Zero, negative, under a hundredth, more than 64, not a number
# security
# sanitizers

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/limits.sh"

need_limits

assert_refuses --cpus 0 -1 -0.5 0.001 65 1e9 nan inf 1,5 ""
