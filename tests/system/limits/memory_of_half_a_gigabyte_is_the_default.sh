#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# More than the default of 512 MiB is killed by default, and given where memory is unlimited
# security
# lane: soak (takes half a gigabyte, twice)

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/limits.sh"

need_limits

run_helper -t 60 -- eat-memory anon 566231040
assert_oom
run_helper -m unlimited -t 60 -- eat-memory anon 629145600
assert_at_ease
assert_eq "$stdout" "ate 629145600"
