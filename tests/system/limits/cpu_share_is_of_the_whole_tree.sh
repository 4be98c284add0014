#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Four processes share the fifth of a CPU that one would have
# security

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/limits.sh"

need_limits

assert_held_back 1000 run_helper --cpus 0.2 -- eat-cpu 50 4
