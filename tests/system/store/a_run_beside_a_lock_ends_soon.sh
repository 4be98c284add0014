#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# A run beside a locked database ends within three seconds: it does not wait for the lock
#
# lane: soak (bounds the time of a run)

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/store.sh"

need_root

run -- true
assert_eq "$(count_runs)" 1
lock_store

# is_not_delayed: by the lock; others may keep it from the processor.
is_not_delayed()
{
	run -- sh -c 'exit 4'
	assert_status 4
	assert_eq "$(json .store.state)" queued
	[ "$elapsed_ms" -le "$(scaled 3000)" ]
}
patiently is_not_delayed || fail "a run beside a lock takes $elapsed_ms ms"
unlock_store
