#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Zero, negative, too small, too large
# security

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/limits.sh"

need_limits

assert_refuses --disk 0 -1 65535 2T 1e99 nan ""
assert_refuses limits.disk_inodes= 0 63 -1 1000000001 1.5
