#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# output.forward=0: only the result has it

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/limits.sh"

need_limits

run -s output.forward=0 -- sh -c 'echo kept; echo too >&2'
assert_ended 0 exited
assert_eq "$stdout" ""
assert_eq "$stderr" ""
assert_eq "$(json .stdout.text)" kept "kept of stdout"
assert_eq "$(json .stderr.text)" too "kept of stderr"
