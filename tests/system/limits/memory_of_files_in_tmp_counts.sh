#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Files of the sandbox's own file systems live in memory: they are charged and end in OOM
# security

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/limits.sh"

need_limits

run_helper -m 32M --disk 128M -- eat-disk bytes 67108864 /tmp/file
assert_oom
assert_eq "$stdout" ""
