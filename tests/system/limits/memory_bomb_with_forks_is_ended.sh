#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# fork and memory together.  The processes fit within their limit; any one of the commands is too much
# for the memory, in whatever order they come: its children stay until all have eaten.
# security

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/limits.sh"

need_limits
check_leaks

run --ro "$helpers:/helpers" --pids 400 -m 64M -t 60 -- \
	bash -c 'for ((i = 0; i < 20; i++)); do /helpers/eat-memory anon 8388608 12 & done; wait'
assert_status 137
assert_reason oom
assert_ge "$(json .oom.kills)" 1 "OOM kills"
