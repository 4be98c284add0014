#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# 10, 50, 200 and 500 ms within 2 %, jitter with its mean and its spread, 2,000 packets each;
# with a seed, a rate and losses beside it
#
# serial: it measures times

. "$(dirname "$0")/../../lib/system.sh"
. "$repo/tests/lib/limits.sh"
. "$repo/tests/lib/link.sh"

need_link
need_netem

packets=2000
all=100000000

delay()
{
	shaped "latency_ms=$1"
	send $packets 64 500 $all 2000
	assert_eq "$(link lost)" 0 "lost at $1 ms"
	assert_eq "$(link overtaken)" 0 "overtaken at $1 ms"
	assert_eq "$(shaping 'applied.latency_ms * 1000 | round')" "$1"000 "applied delay"
	assert_eq "$(shaping 'applied.round_trip_ms | round')" $((2 * $1)) "applied round trip"
	[ "$(link min_us)" -ge "$1"000 ] && near "$(link "$typical")" "$1"000 2 &&
		near "$(shaping measured.probe.rtt_min_ms)" $((2 * $1)) 5
}

# An emulated machine that is busy is late with most packets, though not with all.
typical=median_us
[ "$MENACE_SLOWDOWN" -eq 1 ] || typical=p10_us
for ms in 10 50 200 500; do
	patiently delay $ms || fail "$ms ms: $link $(shaping measured.probe)"
done
assert_eq "$(shaping engine)" netem
assert_eq "$(shaping measured.probe.answered)" 20 "answers of the probe"
assert_eq "$(shaping measured.queue.packets)" $packets "packets of the payload alone"

# Evenly spread over 100 +- 20 ms: half of all within 10 ms of the middle.
jitter()
{
	shaped latency_ms=100 jitter_ms=20
	send $packets 64 500 $all 2000
	assert_eq "$(link lost)" 0 "lost with jitter"
	near "$(link mean_us)" 100000 2 && near "$(($(link q3_us) - $(link q1_us)))" 20000 8 &&
		[ "$(link min_us)" -ge 80000 ] && near "$(link min_us)" 80000 2
}
patiently jitter || fail "jitter: $link"
assert_ge "$(link overtaken)" 1000 "overtaken with jitter"

# A quarter goes at once, and overtakes those that wait.
order()
{
	shaped latency_ms=20 reorder_percent=25
	send $packets 64 500 $all 2000
	near "$(link median_us)" 20000 3 && [ "$(link min_us)" -lt 5000 ] &&
		near "$(link overtaken)" 1500 6
}
patiently order || fail "another order: $link"

# What netem cannot do with a seed, our own programs do; the same packets are lost.
shaped latency_ms=20 loss_percent=5 seed=7
send $packets 64 500 $all 2000
[[ $(shaping engine) =~ ^netem(\+tc-bpf)?$ ]] || fail "engine $(shaping engine)"
near "$(link q1_us)" 20000 3 || fail "delay beside a loss: $link"
within "$(link lost)" $packets 0.05 4 || fail "loss beside a delay: $link"
# On a busy machine a packet that is late counts as lost, too.
same()
{
	local first

	send $packets 64 500 $all 2000
	first=$(link which)
	send $packets 64 500 $all 2000
	[ "$(link which)" = "$first" ]
}
patiently same || fail "packets lost with a seed: $link"

# A delay and a rate: packets wait for each other, and then on the way.
shaped latency_ms=50 rate=10mbit
send $packets 1208 0 500 2000
assert_eq "$(link lost)" 0 "lost with a delay and a rate"
[ "$(link min_us)" -ge 50000 ] || fail "delay with a rate: $link"
near "$(link bits_per_second)" 10000000 3 || fail "rate with a delay: $link"
