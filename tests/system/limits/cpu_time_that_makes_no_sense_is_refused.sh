#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Zero, negative, more than a year, not a time
# security

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/limits.sh"

need_limits

assert_refuses --cpu-time 0 -1 0.0001 400d nan ten "1 parsec" ""
