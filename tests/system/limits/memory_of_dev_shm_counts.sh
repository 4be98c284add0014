#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# /dev/shm is no way around the memory limit
# security

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/limits.sh"

need_limits

run_helper -m 32M --disk 128M -- eat-memory /dev/shm/segment 67108864
assert_oom
