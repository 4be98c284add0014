#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# 64 MiB written and synced: exact to the files, within 2 % to the device; null with the reason
# where a request cannot be told to be a run's
#
# kernel

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/telemetry.sh"

need_telemetry
mkdir "$tmp/dir"
chmod 777 "$tmp/dir"
written() { run -q -t "$(scaled 60)" -m 1g --telemetry full --rw "$tmp/dir:/dir" -- dd if=/dev/zero of=/dir/file bs=1M count="$1" conv=fsync; assert_status 0; }
written 0
without=$(json .telemetry.counters.written_bytes)
written 64
# What dd says differs by some digits.
assert_le $(($(json .telemetry.counters.written_bytes) - without - (64 << 20))) 64 "bytes written to files"
assert_ge $(($(json .telemetry.counters.written_bytes) - without - (64 << 20))) -64 "bytes written to files"
counts() { json '.telemetry.counters | [.block_written_bytes, .block_writes, .block_read_bytes, .block_reads] | tostring'; }
if [ "$(json '.telemetry.probes[] | select(.name == "block") | .state')" != attached ]; then
	assert_eq "$(counts)" "[null,null,null,null]" counters
	assert_eq "$(json '.telemetry.probes[] | select(.name == "block") | [.state, .errno] | tostring')" '["failed",95]'
	assert_match "$(json '.telemetry.probes[] | select(.name == "block") | .consequence')" "has no block controller"
	exit 0
fi
[[ $(df --output=source "$tmp" | tail -n 1) == /dev/* ]] || skip "$tmp is on no block device"
bytes=$(json .telemetry.counters.block_written_bytes)
assert_ge "$bytes" $((64 << 20)) "bytes written to the device"
assert_le "$bytes" $(((64 << 20) * 102 / 100)) "bytes written to the device"
assert_ge "$(json .telemetry.counters.block_writes)" 1 requests
assert_eq "$(json '[.telemetry.histograms[] | select(.name == "block") | .buckets[].count] | add')" \
	"$(json '.telemetry.counters | .block_writes + .block_reads')" "requests in the distribution"
assert_books
