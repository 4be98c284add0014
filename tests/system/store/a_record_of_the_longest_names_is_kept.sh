#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# The longest names that there can be, each byte of which takes six, do not keep a run out of the store: fewer than a
# thousand changes are kept then
#
# lane: soak (a record of 12 MB takes many seconds to write and to verify)

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/store.sh"

need_root
need_system_program python3

mkdir "$tmp/w"
chmod 777 "$tmp/w"
run -t "$(scaled 120)" --workspace "$tmp/w" -- python3 -c '
import os
os.chdir("/work")
for k in range(15):
    os.mkdir(b"\x01" * 250)
    os.chdir(b"\x01" * 250)
for i in range(1100):
    open(b"%04d" % i + b"\x01" * 200, "w").close()'
assert_status 0
read -r listed state < <(json '"\(.workspace.changes.entries | length) \(.store.state)"')
assert_eq "$state" queued
assert_eq "$stderr" ""
menace query "SELECT changes_left_out, count(*) AS kept FROM runs JOIN changes USING (run_id)
	GROUP BY run_id ORDER BY run_id DESC LIMIT 1"
assert_eq "$(tail -n 1 "$tmp/stdout")" "$((listed - 500))"$'\t500'
assert_verified
