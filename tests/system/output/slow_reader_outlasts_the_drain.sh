#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# The program has ended long before its last bytes are read: they wait

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/limits.sh"

need_limits

"$MENACE_RUN" -o "$result" -s limits.drain_ms=50 --ro "$helpers:/helpers" -- \
	/helpers/eat-output 200000 2>"$tmp/stderr" | "$helpers/read-slowly" 8192 30 >"$tmp/stdout"
assert_eq "${PIPESTATUS[0]}" 0 "exit status"
"$helpers/eat-output" 200000 | cmp - "$tmp/stdout" || fail "what was passed on differs"
assert_eq "$(json .stdout.bytes)" 200000 "bytes counted"
