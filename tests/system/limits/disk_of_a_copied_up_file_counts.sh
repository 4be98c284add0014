#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# To change one byte of a big file of the workspace takes its whole size
# security

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/limits.sh"

need_limits

mkdir -m 777 "$tmp/project"
head -c 2097152 /dev/zero >"$tmp/project/big"
chmod 666 "$tmp/project/big"
run --disk 1M --best-effort workspace-idmap --workspace "$tmp/project" -- sh -c 'echo x >>/work/big'
assert_status 2
assert_contains "$stderr" "No space left on device"
assert_eq "$(stat -c %s "$tmp/project/big")" 2097152 "size on the host"
