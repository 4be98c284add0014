#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# And an open, deleted file still counts
# security

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/limits.sh"

need_limits

run --disk 1M -- sh -c '
	for i in 1 2 3 4; do head -c 900000 /dev/zero >/tmp/f && rm /tmp/f || exit 1; done
	exec 3>/tmp/open; head -c 900000 /dev/zero >&3; rm /tmp/open
	head -c 900000 /dev/zero >/tmp/f 2>/dev/null || echo full'
assert_status 0
assert_eq "$stdout" full
