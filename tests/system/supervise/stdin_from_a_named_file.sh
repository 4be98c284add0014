#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# --stdin FILE, and one that is not there

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/limits.sh"

need_limits

printf 'from the file' >"$tmp/input"
run --stdin "$tmp/input" -- cat
assert_at_ease
assert_eq "$stdout" "from the file"
run --stdin "$tmp/missing" -- cat
assert_refused "$tmp/missing" "No such file or directory"
