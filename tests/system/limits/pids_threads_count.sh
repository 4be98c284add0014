#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# A thread is a task like any other
# security
# kernel

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/limits.sh"

need_limits

run_helper --pids 10 -- fork-bomb threads 9
assert_ended 0 exited
assert_eq "$stdout" "made 9"
run_helper --pids 10 -- fork-bomb threads 10
assert_ended 1 pids_limit pids
assert_eq "$stdout" "made 9: EAGAIN"
