#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# And less leaves the limit unmentioned
# security

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/limits.sh"

need_limits

run_helper --disk 1M -- eat-disk bytes 1000000 /work/file
assert_at_ease
assert_eq "$(json .usage.disk.used_bytes)" 1003520 "used, in whole pages"
