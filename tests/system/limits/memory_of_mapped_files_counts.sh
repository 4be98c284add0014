#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# A shared mapping of a file in /tmp is charged as it is touched
# security

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/limits.sh"

need_limits

run_helper -m 32M --disk 128M -- eat-memory /tmp/file 67108864
assert_oom
