#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Zero, negative, more than a year, not a time; a shell's idea of a time-out is refused too
# security
# sanitizers

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/limits.sh"

need_limits

assert_refuses --timeout 0 -1 -1s 0.0001 400d 99999999999999999999 nan inf 1h30 "1 2" ""
