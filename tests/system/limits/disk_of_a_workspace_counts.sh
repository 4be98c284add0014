#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Changes to an overlaid workspace are held to the limit, and the host's folder is not touched
# security

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/limits.sh"

need_limits

mkdir -m 777 "$tmp/project"
head -c 524288 /dev/zero >"$tmp/project/old"
chmod 666 "$tmp/project/old"
run_helper --disk 1M --best-effort workspace-idmap --workspace "$tmp/project" -- eat-disk bytes 2097152 /work/new
assert_ended 1 disk_limit disk
assert_match "$stdout" '^wrote 10[0-9]*: ENOSPC$'
assert_eq "$(ls "$tmp/project")" old "the host's folder"
