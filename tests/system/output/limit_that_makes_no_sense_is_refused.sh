#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Negative, too large, not a size

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/limits.sh"

need_limits

assert_refuses --output-limit -1 2P 99999999999999999999 nan lots ""
assert_refuses output.head_bytes= -1 17M unlimited
