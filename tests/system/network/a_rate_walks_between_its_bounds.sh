#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# MIN_BANDWIDTH and MAX_BANDWIDTH together: a step each second, within both, the same steps with
# the same seed, and the packets meet the rate of the hour

. "$(dirname "$0")/../../lib/system.sh"
. "$repo/tests/lib/limits.sh"
. "$repo/tests/lib/link.sh"

need_link

walk()
{
	run --net loopback --set net.seed="$1" -p '{"MIN_BANDWIDTH": "2mbps", "MAX_BANDWIDTH": "4mbps"}' \
		--ro "$helpers:/helpers" -- sh -c 'sleep 2.5; exec /helpers/net-link 600 1200 0 60 2000'
	assert_status 0
	assert_eq "$(shaping 'requested | tojson')" "{\"rate_max\":4000000,\"rate_min\":2000000,\"seed\":$1}"
	assert_eq "$(shaping applied.rate)" 3000000 "rate at the beginning"
	assert_eq "$(shaping measured.rate_walk.why)" null
	steps=$(shaping measured.rate_walk.steps)
	assert_ge "$steps" 3 "steps"
	assert_ge "$(shaping measured.rate_walk.lowest)" 2000000
	assert_le "$(shaping measured.rate_walk.highest)" 4000000
	assert_eq "$(shaping 'measured.rate_walk | .lowest < .highest')" true "it walks"
	# 600 packets of 1242 bytes take 1.5 to 3 seconds.
	rate=$(jq '.bits_per_second | round' <<<"$stdout")
	assert_ge "$rate" "$(json '.receipt.network.shaping.measured.rate_walk.lowest * 0.93 | round')"
	assert_le "$rate" "$(json '.receipt.network.shaping.measured.rate_walk.highest * 1.07 | round')"
}

walk 3
first=$(json '.receipt.network.shaping.measured.rate_walk | [.lowest, .highest, .last] | tojson')
first_steps=$steps
for _ in 1 2 3; do
	walk 3
	[ "$steps" -ne "$first_steps" ] || break
done
[ "$steps" -ne "$first_steps" ] ||
	assert_eq "$(json '.receipt.network.shaping.measured.rate_walk | [.lowest, .highest, .last] | tojson')" \
		"$first" "walk of the same seed"

# In a user namespace of its own, too, where the kernel lets an ordinary user have one.
run --userns --net loopback -p '{"MIN_BANDWIDTH": "2mbps", "MAX_BANDWIDTH": "4mbps"}' -- sleep 1.5
assert_status 0
assert_eq "$(shaping 'measured.rate_walk | [.steps >= 1, .why] | tojson')" '[true,null]'
