#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# The CPU time that the programs in the kernel saw is that of the control group, within a tenth
#
# lane: soak (compares two clocks of CPU time, which others disturb)

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/telemetry.sh"

need_telemetry
counter() { json ".telemetry.counters.$1"; }

# The CPU time that was seen is that of the group within a tenth; a busy machine's caches are cold and its ticks
# others', so that gets more chances.
is_seen()
{
	local used seen

	used=$(json .usage.cpu.usage_us)
	seen=$(($(counter cpu_ns) / 1000))
	echo "CPU time: $seen us seen, $used us used, $(json .usage.cpu.difference_us) us less rusage"
	[ "$seen" -ge $((used * 90 / 100)) ] && [ "$seen" -le $((used * 110 / 100)) ]
}

spun()
{
	local apart

	run_inside -- spin 1000
	assert_status 0
	assert_eq "$(json '[.telemetry.histograms[0].buckets[].count] | add >= 1')" true "turns on a CPU"
	# What the group and what wait4(2) say are apart by the making of the sandbox, at most 3 % of a second.
	assert_eq "$(json '.usage.cpu.usage_us - .usage.cpu.rusage_us == .usage.cpu.difference_us')" true "difference"
	apart=$(json .usage.cpu.difference_us)
	is_seen && [ "${apart#-}" -le "$(scaled 30000)" ]
}
patiently spun || fail "the CPU time of one that spins"

# Programs so short that no tick of the clock meets them, and what the kernel does at their end.
short_ones()
{
	run_inside -- execs "$((MENACE_SLOWDOWN > 1 ? 50 : 300))" /bin/true
	is_seen
}
patiently short_ones || fail "the CPU time of short programs"
