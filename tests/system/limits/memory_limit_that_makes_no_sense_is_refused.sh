#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Zero, negative, too small, too large, not a number: named, and nothing runs
# security
# sanitizers

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/limits.sh"

need_limits

assert_refuses --memory 0 -1 1048575 65G 18446744073709551616 99999999999999999999 1e99 nan "" \
	12Q 0x100000 "1 M M"
assert_refuses limits.memory_max_bytes= 0 -5 1048575
