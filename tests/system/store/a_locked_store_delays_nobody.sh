#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Another process holds the database locked: a run ends all the same, and its record waits until an ingest
# finds the database free
#

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/store.sh"

need_root

run -- true
assert_eq "$(count_runs)" 1
lock_store

run -- sh -c 'exit 4'
assert_status 4
assert_eq "$(json .store.state)" queued
assert_eq "$stderr" ""
menace ingest # which waits for some seconds
assert_status 125
assert_contains "$stderr" "store $store is locked by another process; try again"

unlock_store
menace ingest
assert_contains "$stdout" "1 taken in"
assert_eq "$(count_runs)" 2
assert_verified
