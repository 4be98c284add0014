#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# No limit on address space: what is asked for and not touched costs nothing
# security

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/limits.sh"

need_limits

run_helper -m 32M -- eat-memory reserve 68719476736
assert_at_ease
assert_eq "$stdout" "ate 68719476736"
run -m 32M -- sh -c 'ulimit -v && ulimit -d'
assert_at_ease
assert_eq "$stdout" $'unlimited\nunlimited'
