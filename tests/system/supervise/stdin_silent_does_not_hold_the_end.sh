#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# A writer that never writes nor closes

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/limits.sh"

need_limits
check_leaks

mkfifo "$tmp/fifo"
exec 3<>"$tmp/fifo"
run_plain "$MENACE_RUN" -t 60 -o "$result" true <"$tmp/fifo" 3<&-
assert_status 0
