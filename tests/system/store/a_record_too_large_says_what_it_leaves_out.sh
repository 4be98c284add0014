#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# A run that changes so many files with such names that its record would be too large is kept with
# the first of them, and with the number of those that are left out
#

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/store.sh"

need_root
need_system_program python3

mkdir "$tmp/w"
chmod 777 "$tmp/w"
run -t "$(scaled 120)" --workspace "$tmp/w" -- python3 -c '
for i in range(10000):
    open(b"/work/%05d" % i + b"\xff" * 250, "w").close()'
assert_status 0
read -r listed state < <(json '"\(.workspace.changes.entries | length) \(.store.state)"')
assert_eq "$state" queued
assert_eq "$stderr" ""
menace query "SELECT changes_left_out, (SELECT count(*) FROM changes) AS kept FROM runs"
assert_eq "$(tail -n 1 "$tmp/stdout")" "$((listed - 1000))"$'\t1000'
assert_verified
