#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Where nothing can be written any more the program's pipe is closed

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/limits.sh"

need_limits

"$MENACE_RUN" -t 60 -o "$result" yes >/dev/full 2>"$tmp/stderr"
assert_eq $? 141 "exit status"
assert_eq "$(json .exit.signal_name)" PIPE "signal"
