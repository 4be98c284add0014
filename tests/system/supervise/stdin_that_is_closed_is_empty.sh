#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# A caller without standard input

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/limits.sh"

need_limits

run_plain "$MENACE_RUN" -o "$result" wc -c <&-
assert_status 0
assert_eq "$stdout" 0
run_plain "$MENACE_RUN" -o "$result" wc -c </dev/null
assert_status 0
assert_eq "$stdout" 0
