#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Everything a group and rusage can tell is told, and is plausible
# security

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/limits.sh"

need_limits

run_helper -m 64M -- eat-memory anon 8388608
assert_at_ease
missing=$(json '{w: .usage.wall_us, u: .usage.cpu.usage_us, s: .usage.cpu.user_us, y: .usage.cpu.system_us,
	r: .usage.cpu.rusage_us, p: .usage.memory.peak_bytes, l: .usage.memory.largest_process_bytes,
	i: .usage.page_faults.minor, a: .usage.page_faults.major, v: .usage.context_switches.voluntary,
	c: .usage.context_switches.involuntary, d: .usage.disk.used_bytes, n: .usage.disk.used_inodes,
	e: .timings.setup_us, t: .timings.teardown_us} | to_entries | map(select((.value | type) != "number" or .value < 0)) |
	tojson')
assert_eq "$missing" "[]" "numbers that are not there"
# 8 MiB are 2048 pages, or 4 huge ones
assert_ge "$(json .usage.page_faults.minor)" 20 "page faults"
assert_ge "$(json .usage.wall_us)" 1 "wall clock"
assert_match "$(json .usage.pids.peak)" '^(2|null)$' "processes at once"
assert_match "$(json .usage.memory.limit_hits)" '^(0|null)$' "limit hits"
