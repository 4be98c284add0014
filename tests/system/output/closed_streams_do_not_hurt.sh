#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Without standard output and error the result still has everything

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/limits.sh"

need_limits

"$MENACE_RUN" -o "$result" -- sh -c 'echo out; echo err >&2' >&- 2>&-
assert_eq $? 0 "exit status"
assert_eq "$(json .stdout.text)" out "kept of stdout"
assert_eq "$(json .stderr.text)" err "kept of stderr"
