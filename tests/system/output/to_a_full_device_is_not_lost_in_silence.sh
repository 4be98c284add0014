#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# A program that writes a little and ends well: what could not be passed on is said, and the status is not 0

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/limits.sh"

need_limits

said="menace-run: what the program writes cannot be passed on: No space left on device; the rest of it is lost"

"$MENACE_RUN" -q -o "$result" echo little >/dev/full 2>"$tmp/stderr"
assert_eq $? 125 "exit status"
assert_eq "$(cat "$tmp/stderr")" "$said" "messages"
assert_eq "$(json .reason),$(json .exit.code),$(json .exit.status),$(json .stdout.bytes),$(json .stdout.truncated)" exited,0,125,7,true "result"

# What the program says of itself is not hidden by it.
"$MENACE_RUN" -q -o "$result" sh -c 'echo little; exit 3' >/dev/full 2>"$tmp/stderr"
assert_eq $? 3 "exit status"
assert_eq "$(cat "$tmp/stderr")" "$said" "messages"

# A reader that is gone wants no more.
mkfifo "$tmp/pipe"
exec 7<>"$tmp/pipe"
exec 8>"$tmp/pipe"
exec 7>&-
"$MENACE_RUN" -q -o "$result" echo little 2>"$tmp/stderr" >&8
assert_eq "$?" 0 "exit status"
assert_eq "$(cat "$tmp/stderr")" "" "messages"
