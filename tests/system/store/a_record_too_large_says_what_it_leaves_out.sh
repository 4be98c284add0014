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
listed=$(json '.workspace.changes.entries | length')
assert_eq "$(json .store.state)" queued
assert_eq "$stderr" ""
menace query "SELECT changes_left_out, (SELECT count(*) FROM changes) AS kept FROM runs"
assert_eq "$(tail -n 1 "$tmp/stdout")" "$((listed - 1000))"$'\t1000'
assert_verified

# Nor do the longest names that there can be, each byte of which takes six, keep a run out of the
# store: fewer than a thousand are kept then.
rm -rf "$tmp/w"
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
listed=$(json '.workspace.changes.entries | length')
assert_eq "$(json .store.state)" queued
assert_eq "$stderr" ""
menace query "SELECT changes_left_out, count(*) AS kept FROM runs JOIN changes USING (run_id)
	GROUP BY run_id ORDER BY run_id DESC LIMIT 1"
assert_eq "$(tail -n 1 "$tmp/stdout")" "$((listed - 500))"$'\t500'
assert_verified
