#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# A writer that never stops is left alone when the program ends

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/limits.sh"

need_limits
check_leaks

yes | "$MENACE_RUN" -t 60 -o "$result" head -n 1 >"$tmp/stdout"
assert_eq "${PIPESTATUS[*]}" "141 0" "exit statuses"
assert_eq "$(cat "$tmp/stdout")" y
