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
for number in .usage.wall_us .usage.cpu.usage_us .usage.cpu.user_us .usage.cpu.system_us \
	.usage.cpu.rusage_us .usage.memory.peak_bytes .usage.memory.largest_process_bytes \
	.usage.page_faults.minor .usage.page_faults.major .usage.context_switches.voluntary \
	.usage.context_switches.involuntary .usage.disk.used_bytes .usage.disk.used_inodes \
	.timings.setup_us .timings.teardown_us; do
	assert_ge "$(json "$number")" 0 "$number"
done
# 8 MiB are 2048 pages, or 4 huge ones
assert_ge "$(json .usage.page_faults.minor)" 20 "page faults"
assert_ge "$(json .usage.wall_us)" 1 "wall clock"
assert_le "$(json .usage.wall_us)" $((elapsed_ms * 1000)) "wall clock"
assert_match "$(json .usage.pids.peak)" '^(2|null)$' "processes at once"
assert_match "$(json .usage.memory.limit_hits)" '^(0|null)$' "limit hits"
