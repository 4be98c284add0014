#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Known amounts of CPU time, memory and writes are found again

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/telemetry.sh"

need_telemetry
counter() { json ".telemetry.counters.$1"; }

run_inside -- spin 500
assert_status 0
assert_eq "$(json '[.telemetry.histograms[0].buckets[].count] | add >= 1')" true "turns on a CPU"
assert_ge "$(counter cpu_ns)" 450000000 "nanoseconds of one that spins for 500 ms"
assert_eq "$(json '.usage.cpu.usage_us - .usage.cpu.rusage_us == .usage.cpu.difference_us')" true "difference"

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
[ "$(counter rss_max_bytes)" -le $((204 << 20)) ] || fail "the peak is $(counter rss_max_bytes)"
assert_ge "$(counter minor_faults)" 51200 "page faults"
assert_books
