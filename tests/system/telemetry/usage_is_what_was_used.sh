#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Known amounts of CPU time, memory and writes are found again

. "$(dirname "$0")/../../lib/system.sh"
. "$repo/tests/lib/telemetry.sh"

need_telemetry
counter() { json ".telemetry.counters.$1"; }

run_inside -- spin 1000
assert_status 0
used=$(json .usage.cpu.usage_us)
assert_ge "$(($(counter cpu_ns) / 1000))" $((used * 90 / 100)) "CPU time seen"
assert_le "$(($(counter cpu_ns) / 1000))" $((used * 110 / 100)) "CPU time seen"
assert_eq "$(json '[.telemetry.histograms[0].buckets[].count] | add >= 1')" true "turns on a CPU"

# Programs so short that no tick of the clock meets them, and what the kernel does at their end.
run_inside -- execs "$((MENACE_SLOWDOWN > 1 ? 50 : 300))" /bin/true
used=$(json .usage.cpu.usage_us)
assert_ge "$(($(counter cpu_ns) / 1000))" $((used * 90 / 100)) "CPU time of short programs"
assert_le "$(($(counter cpu_ns) / 1000))" $((used * 110 / 100)) "CPU time of short programs"
run_inside --telemetry basic -- spin 1
assert_eq "$(counter cpu_ns)" null "CPU time where no turn is seen"
assert_eq "$(json .telemetry.usage.cpu_us)" null "CPU time where no turn is seen"

run_inside -- write 64 /work/file
assert_status 0
without=$(json .telemetry.counters.written_bytes)
run_inside -- write 0 /work/file
assert_eq $((without - $(counter written_bytes))) $((64 << 20)) "bytes written"

run_inside -m 1g -- touch 200
assert_status 0
assert_ge "$(counter rss_max_bytes)" $((200 << 20)) "peak"
assert_le "$(counter rss_max_bytes)" $((204 << 20)) "peak"
assert_ge "$(counter minor_faults)" 51200 "page faults"
assert_books
