#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# A request that is absurd beside the limit ends like any other, and does not take the host's memory
# security

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/limits.sh"

need_limits

run_helper -m 16M -t 60 -- eat-memory anon 68719476736
assert_oom
assert_le "$(json .usage.memory.peak_bytes)" 16777216 "peak"
