#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# The CPU time by the group's clock and by the kernel's sum over processes is what was used, and their
# difference is told
# security

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/limits.sh"

need_limits

run_helper -- eat-cpu 100 2
assert_at_ease
assert_eq "$(json '.usage.cpu | "\(.source) \(.usage_us >= 200000) \(.rusage_us >= 190000)
	\(.user_us + .system_us >= 190000) \(.difference_us == .usage_us - .rusage_us)" | gsub("[\n\t]+"; " ")')" \
	"cpu.stat true true true true" "source, times and difference of $(json '.usage.cpu | tojson')"
