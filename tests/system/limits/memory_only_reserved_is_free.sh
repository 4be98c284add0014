#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# What is mapped and not touched costs nothing: programs reserve much and use little

. "$(dirname "$0")/../../lib/system.sh"
. "$repo/tests/lib/limits.sh"

need_limits

run --ro "$helpers:/helpers" -m 32M -- sh -c '/helpers/eat-limits stack 4096 && ulimit -v && ulimit -d'
assert_at_ease
assert_eq "$stdout" $'used 4096\nunlimited\nunlimited'
