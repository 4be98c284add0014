#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Behaviours of tests/conformance in prepared containers: the same differences, and no others
#
# lane: engine

. "${0%/*}/../../lib/system.sh"
. "${0%/*}/../../lib/docker.sh"

need_engine
need_system_program python3 perl
need_program python3 jq unshare
with_own_leases
start_engine
menace=${MENACE:-${MENACE_RUN%/*}/menace}

# One after the other, so that the next one's container can be prepared meanwhile.
"$repo/tests/conformance/run" --backend docker --only "${MENACE_POOL_BEHAVIOURS:-^(streams|snippets|signals|leftovers)/}" -j 1 \
	--with '--pool 2' || fail "a difference is not stated"
nobody_cleans_up
counters=$("$menace" pool status --json | jq -c .counters)
jq -e '.used >= 5' <<<"$counters" >/dev/null || fail "hardly any was in a prepared container: $counters"
"$menace" cleanup >/dev/null || fail "cleanup"
nothing_is_left
