#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Delays, jitter, another order, a rate, losses with a seed: the receipt has what the kernel was asked for and reads back, no
# packet is there before its delay is over, none that is not to be is lost, and each is counted; by each engine that delays
# kernel gate

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/limits.sh"
. "$repo/tests/lib/link.sh"

need_link
need_delay_engines

# Of packets that nothing loses each is waited for as long as it takes.
patience_ms=$(scaled 30000)
packets=100

# has WHAT EXPRESSION EXPECTED
has()
{
	assert_eq "$(json ".receipt.network.shaping | $2")" "$3" "$1 by $engine"
}

for engine in "${delay_engines[@]}"; do
	# How many of the payload's packets the engine had, and none before it.
	case $engine in
	netem) passed=.measured.queue.packets ;;
	tun) passed=.measured.relay.packets ;;
	esac
	for ms in 10 60; do
		shaped "latency_ms=$ms" "engine=$engine"
		send $packets 64 100 1000 "$patience_ms"
		assert_eq "$(link '| "\(.lost) \(.overtaken) \(.repeated)"')" "0 0 0" "lost, overtaken and repeated at $ms ms"
		assert_ge "$(link min_us)" "${ms}000" "the fastest packet in microseconds"
		has "delay" '"\(.state) \(.engine) \(.applied.latency_ms * 1000 | round) \(.applied.round_trip_ms | round)"' \
			"enforced $engine ${ms}000 $((2 * ms))"
		has "packets" "$passed" $packets
		assert_ge "$(shaping 'measured.probe.rtt_min_ms | floor')" $((2 * ms)) "round trip of the probe"
	done
	# With jitter they take 10 ms less at most; some of those that are to overtake go at once.
	shaped latency_ms=30 jitter_ms=10 "engine=$engine"
	send $packets 64 100 1000 "$patience_ms"
	assert_eq "$(link lost)" 0 "lost with jitter"
	assert_ge "$(link min_us)" 20000 "the fastest packet with jitter"
	has "jitter" '.applied | "\(.latency_ms * 1000 | round) \(.jitter_ms * 1000 | round)"' "30000 10000"
	shaped latency_ms=30 reorder_percent=25 "engine=$engine"
	send $packets 64 100 1000 "$patience_ms"
	assert_eq "$(link lost)" 0 "lost with another order"
	has "order" '.applied | "\(.latency_ms * 1000 | round) \(.reorder_percent)"' "30000 25"
	# 100 packets of 1250 bytes take 98 ms at 10 Mbit/s but for those that go at once, and each its delay.
	shaped latency_ms=30 rate=10mbit "engine=$engine"
	send $packets 1208 0 500 "$patience_ms"
	assert_eq "$(link lost)" 0 "lost with a delay and a rate"
	assert_ge "$(link min_us)" 30000 "the fastest packet with a rate"
	has "rate" '.applied | "\(.latency_ms * 1000 | round) \(.rate)"' "30000 10000000"
	assert_ge "$(shaping 'measured.queue.packets')" $packets "packets of the queue"
	# What netem cannot do with a seed, our own programs do.
	shaped latency_ms=30 loss_percent=5 seed=7 "engine=$engine"
	send $packets 64 0 100000000 "$(scaled 500)"
	assert_match "$(shaping engine)" "^$engine(\+tc-bpf)?$" "engine of a delay and losses with a seed"
	has "loss" '.applied | "\(.loss_percent) \(.seed)"' "5 7"
done

# The lower one of two rates holds.
engine=tbf
shaped rate=50mbit rate_max=10mbit
send $packets 64 0 600 "$patience_ms"
assert_eq "$(link lost)" 0 "lost with a rate"
has "the lower one" '"\(.state) \(.applied.rate) \(.requested | tojson)"' 'enforced 10000000 {"rate":50000000,"rate_max":10000000}'
