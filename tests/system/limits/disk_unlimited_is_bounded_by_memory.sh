#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Without a disk limit more than the default of 256 MiB fits, as long as memory lasts
# security

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/limits.sh"

need_limits

run_helper --disk unlimited -m 512M -t 60 -- eat-disk bytes 301989888 /tmp/file
assert_at_ease
assert_eq "$(json .limits.disk_bytes)" unlimited "limit"
assert_eq "$(json .usage.disk.used_bytes)" null "used"
run_helper --disk unlimited -m 32M -- eat-disk bytes 67108864 /tmp/file
assert_oom
