#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# 1 MiB is accepted, runs a small static program, and ends one that wants more
# security
# kernel

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/limits.sh"

need_limits

run_helper -m 1M -- eat-memory anon 4194304
assert_oom
assert_le "$(json .usage.memory.peak_bytes)" 1048576 "peak"
