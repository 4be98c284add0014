#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Each with its own bytes

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/limits.sh"

need_limits

run -- sh -c 'echo to out; echo to err >&2'
assert_ended 0 exited
assert_eq "$stdout" "to out"
assert_eq "$stderr" "to err"
assert_eq "$(json .stdout.text)" "to out" "kept of stdout"
assert_eq "$(json .stderr.text)" "to err" "kept of stderr"
