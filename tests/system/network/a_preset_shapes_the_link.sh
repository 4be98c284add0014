#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# The variables of a preset are conditions of the link; what no engine can do
# is refused or, tolerated, left out by name
# kernel

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/limits.sh"
. "$repo/tests/lib/link.sh"

need_link

preset='{"PACKET_LOSS": "10%", "PACKET_DUPLICATION": 0.01, "BANDWIDTH_LIMIT": "10Mbps",
	"NETWORK_LATENCY_MS": 20, "NETWORK_JITTER_MS": "5"}'
run --net loopback --best-effort net -p "$preset" -- true
assert_status 0
assert_eq "$(json '.receipt.network.shaping.requested | tojson')" \
	'{"duplicate_percent":0.01,"jitter_ms":5,"latency_ms":20,"loss_percent":10,"rate":10000000,"round_trip_ms":40}'
assert_eq "$(json '.receipt.network.shaping.applied | [.loss_percent, .duplicate_percent, .rate, .mtu, .gso_max_segs] | tojson')" \
	'[10,0.01,10000000,1500,1]'
if (need_delay_engines) >/dev/null; then
	run --net loopback -p "$preset" -- true
	assert_status 0
	assert_eq "$(shaping 'applied | [.latency_ms, .jitter_ms] | tojson')" '[20,5]'
	assert_eq "$(shaping 'missing | tojson')" '[]'
fi
run --net loopback --best-effort net --set net.engine=bpf -p "$preset" -- true
assert_eq "$(shaping 'missing | tojson')" '["latency_ms","jitter_ms"]'

# What asks for nothing, and MIN_BANDWIDTH alone, changes nothing.
run -p '{"PACKET_LOSS": 0.0, "NETWORK_LATENCY_MS": 0, "MIN_BANDWIDTH": "1mbps"}' -- true
assert_status 0
assert_eq "$(json '.receipt.network.shaping')" null

# Read back as a spec.
run --dry-run --net loopback -p "$preset" -- true
assert_status 0
jq .spec <<<"$stdout" >"$tmp/spec.json"
assert_eq "$(jq -r '.net | [.latency_ms, .loss_percent, .duplicate_percent, .rate, .seed] | tojson' "$tmp/spec.json")" \
	'["20","10","0.01",10000000,null]'
run --spec "$tmp/spec.json" --best-effort net
assert_status 0
assert_eq "$(json '.receipt.network.shaping.applied.loss_percent')" 10
