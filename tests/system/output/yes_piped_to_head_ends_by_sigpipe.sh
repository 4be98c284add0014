#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# A reader that goes is felt by the program, as without us; no limit is needed

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/limits.sh"

need_limits
check_leaks

"$MENACE_RUN" -t 60 -o "$result" yes 2>"$tmp/stderr" | head -n 1 >"$tmp/stdout"
assert_eq "${PIPESTATUS[0]}" 141 "exit status"
assert_eq "$(cat "$tmp/stdout")" y
assert_reason signaled
assert_eq "$(json .exit.signal_name)" PIPE "signal"
