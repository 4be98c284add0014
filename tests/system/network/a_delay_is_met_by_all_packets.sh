#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Each engine that delays: TCP, UDP and what ICMP tells, over IPv4 and IPv6, take at least the delay each
# way; bytes and addresses are what they are without
# kernel

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/limits.sh"
. "$repo/tests/lib/link.sh"

need_link
need_system_program python3
need_delay_engines

ms=$(scaled 40)
for engine in "${delay_engines[@]}"; do
	shaped "latency_ms=$ms" "engine=$engine"
	run "${options[@]}" -t "$(scaled 120)" --ro "$repo/tests/lib/link-meets.py:/meets.py" -- \
		python3 /meets.py "$ms"
	assert_status 0
	assert_eq "$(grep -v ' ok$' <<<"$stdout")" "" "what is wrong by $engine"
	assert_eq "$(wc -l <<<"$stdout")" 14 "what was tried"
	assert_eq "$(json '.receipt.network.shaping | .state + " " + .engine')" "enforced $engine"
done
