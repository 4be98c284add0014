#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# With --json - the program's output is in the result and nowhere else

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/limits.sh"

need_limits

run_plain "$MENACE_RUN" --json - -- sh -c 'echo inside; echo beside >&2'
assert_status 0
cp "$tmp/stdout" "$result"
assert_eq "$(json .stdout.text)" inside "kept of stdout"
assert_eq "$stderr" beside
