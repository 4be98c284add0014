#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# What a background process wrote before the end is there

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/limits.sh"

need_limits
check_leaks

run -t 60 -- sh -c '
	(printf %01000d 7; : >/tmp/said; exec sleep 1001) &
	until [ -e /tmp/said ]; do sleep 0.01; done
	exit 0'
assert_ended 0 exited
assert_eq "$(json .stdout.bytes)" 1000 "bytes"
