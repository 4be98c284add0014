#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# 4 MiB through a reader that takes its time: the program waits for it

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/limits.sh"

need_limits
check_leaks

"$MENACE_RUN" -o "$result" --ro "$helpers:/helpers" -- /helpers/eat-output 4194304 \
	2>"$tmp/stderr" | "$helpers/read-slowly" 65536 5 >"$tmp/stdout"
assert_eq "${PIPESTATUS[0]}" 0 "exit status"
"$helpers/eat-output" 4194304 | cmp - "$tmp/stdout" || fail "what was passed on differs"
assert_eq "$(json .stdout.bytes)" 4194304 "bytes counted"
