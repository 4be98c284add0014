#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# One byte more is SIGXFSZ, which is told as a disk limit
# security

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/limits.sh"

need_limits

run_helper -s limits.fsize_bytes=65536 -- eat-disk bytes 65536 /tmp/file
assert_at_ease
run_helper -s limits.fsize_bytes=65536 -- eat-disk bytes 65537 /tmp/file
assert_status 153
assert_reason disk_limit
assert_eq "$(json .exit.signal_name)" XFSZ "signal"
