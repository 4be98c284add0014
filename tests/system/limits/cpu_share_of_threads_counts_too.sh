#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Nor do threads get more
# security

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/limits.sh"

need_limits

assert_held_back 1000 run_helper --cpus 0.2 -- eat-cpu 200 1 4
