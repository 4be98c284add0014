#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# 10, 50, 200 and 500 ms within 2 %, jitter with its mean and its spread, 2,000 packets each;
# with a seed, a rate and losses beside it; by each engine that delays
# lane: soak (measures times)

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/limits.sh"
. "$repo/tests/lib/link.sh"

need_link
need_delay_engines

packets=2000
all=100000000
gap_us=$((MENACE_SLOWDOWN > 1 ? 500 : 250))
# How long a packet is waited for that nothing loses.
patience_ms=20000

# How many of the payload's packets the engine had, and none before it.
passed()
{
	case $engine in
	netem) shaping measured.queue.packets ;;
	tun) shaping measured.relay.packets ;;
	esac
}

delay()
{
	shaped "latency_ms=$1" "engine=$engine"
	send $packets 64 $gap_us $all $patience_ms
	assert_eq "$(link lost)" 0 "lost at $1 ms"
	assert_eq "$(link overtaken)" 0 "overtaken at $1 ms"
	assert_eq "$(shaping 'applied.latency_ms * 1000 | round')" "$1"000 "applied delay"
	assert_eq "$(shaping 'applied.round_trip_ms | round')" $((2 * $1)) "applied round trip"
	[ "$(link min_us)" -ge "$1"000 ] && near "$(link "$typical")" "$1"000 2 &&
		near "$(shaping measured.probe.rtt_min_ms)" $((2 * $1)) 5 && [ "$(shaping measured.probe.answered)" -eq 20 ]
}

# An emulated machine that is busy is late with most packets, though not with all; with nearly all where a
# process has each of them in its hands.
typical_of()
{
	if [ "$MENACE_SLOWDOWN" -eq 1 ]; then
		echo median_us
	elif [ "$engine" = tun ]; then
		echo min_us
	else
		echo p10_us
	fi
}

# Evenly spread over 100 +- 20 ms: half of all within 10 ms of the middle.
jitter()
{
	shaped latency_ms=100 jitter_ms=20 "engine=$engine"
	send $packets 64 $gap_us $all $patience_ms
	assert_eq "$(link lost)" 0 "lost with jitter"
	near "$(link mean_us)" 100000 2 && near "$(($(link q3_us) - $(link q1_us)))" 20000 8 &&
		[ "$(link min_us)" -ge 80000 ] && near "$(link min_us)" 80000 2
}

# A quarter goes at once, and overtakes those that wait.
order()
{
	shaped latency_ms=20 reorder_percent=25 "engine=$engine"
	send $packets 64 $gap_us $all $patience_ms
	near "$(link median_us)" 20000 3 && [ "$(link min_us)" -lt 5000 ] &&
		near "$(link overtaken)" 1500 6
}

# What netem cannot do with a seed, our own programs do.  On a busy machine a packet that is late counts as lost, too.
lossy()
{
	shaped latency_ms=20 loss_percent=5 seed=7 "engine=$engine"
	send $packets 64 $gap_us $all "$(scaled 500)"
	[[ $(shaping engine) =~ ^$engine(\+tc-bpf)?$ ]] || fail "engine $(shaping engine)"
	near "$(link q1_us)" 20000 3 && within "$(link lost)" $packets 0.05 4
}

same()
{
	local first

	patiently lossy || return
	first=$(link which)
	send $packets 64 $gap_us $all "$(scaled 500)"
	[ "$(link which)" = "$first" ]
}

# Packets wait for each other, and then on the way.
rated()
{
	shaped latency_ms=50 rate=10mbit "engine=$engine"
	send $packets 1208 0 500 $patience_ms
	assert_eq "$(link lost)" 0 "lost with a delay and a rate"
	[ "$(link min_us)" -ge 50000 ] || fail "delay with a rate: $link"
	near "$(link bits_per_second)" 10000000 3
}

measure()
{
	for ms in 10 50 200 500; do
		patiently delay $ms || fail "$ms ms: $link $(shaping measured.probe)"
	done
	assert_eq "$(shaping engine)" "$engine"
	assert_eq "$(shaping measured.probe.answered)" 20 "answers of the probe"
	assert_eq "$(passed)" $packets "packets of the payload alone"

	patiently jitter || fail "jitter: $link"
	assert_ge "$(link overtaken)" 1000 "overtaken with jitter"

	patiently order || fail "another order: $link"

	patiently same || fail "a delay, and packets lost with a seed: $link"
	patiently rated || fail "rate with a delay: $link"
}

for engine in "${delay_engines[@]}"; do
	typical=$(typical_of)
	measure
done
