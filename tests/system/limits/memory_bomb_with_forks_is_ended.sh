#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# fork and memory together
# serial

. "$(dirname "$0")/../../lib/system.sh"
. "$repo/tests/lib/limits.sh"

need_limits
check_leaks

run --ro "$helpers:/helpers" --pids 64 -m 64M -t 60 -- \
	bash -c 'for ((i = 0; i < 60; i++)); do /helpers/eat-memory anon 8388608 2 & done; wait'
assert_status 137
assert_reason oom
assert_ge "$(json .oom.kills)" 1 "OOM kills"
assert_soon 0
