#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Another process holds the database locked: what is there can be read, and what waits is said not to be shown
#

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/store.sh"

need_root

run -- true
assert_eq "$(count_runs)" 1
lock_store

run -- sh -c 'exit 4'
assert_eq "$(json .store.state)" queued
menace runs --json # which waits for the lock for some seconds
assert_status 0
assert_eq "$(wc -l <"$tmp/stdout")" 1 "runs that can be read meanwhile"
assert_contains "$stderr" "what waits in the spool is not shown"
unlock_store
assert_eq "$(count_runs)" 2
