#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Zero, negative, more than the kernel has, not a whole number
# security

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/limits.sh"

need_limits

assert_refuses --pids 0 -1 4194305 1.5 10k2 many ""
