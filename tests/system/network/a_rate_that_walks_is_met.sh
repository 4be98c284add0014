#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# MIN_BANDWIDTH and MAX_BANDWIDTH together: a step each second, within both, the same steps with
# the same seed, and the packets meet the rate of the hour
# lane: soak (measures rates)

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/limits.sh"
. "$repo/tests/lib/link.sh"

need_link

bounds='{"MIN_BANDWIDTH": "2mbps", "MAX_BANDWIDTH": "4mbps"}'

# walk NAME SEED: in the background; its result is $tmp/NAME.json.
walk()
{
	exec "$MENACE_RUN" -q -o "$tmp/$1.json" --net loopback --set net.seed="$2" -p "$bounds" \
		--ro "$helpers:/helpers" -- sh -c 'sleep 2.5; exec /helpers/net-link 600 1200 0 60 2000' >"$tmp/$1.out"
}

# In a user namespace of its own, too, where the kernel lets an ordinary user have one.
userns()
{
	exec "$MENACE_RUN" -q -o "$tmp/userns.json" --userns --net loopback -p "$bounds" -- sleep 4.5
}

# result_of NAME
result_of()
{
	# shellcheck disable=SC2034 # of json
	result=$tmp/$1.json
}

# walked NAME SEED: sets steps and way; 1: the packets were slower, or the steps fewer, which those of a busy machine
# may be.
walked()
{
	result_of "$1"
	assert_eq "$(shaping 'requested | tojson')" "{\"rate_max\":4000000,\"rate_min\":2000000,\"seed\":$2}"
	assert_eq "$(shaping applied.rate)" 3000000 "rate at the beginning"
	assert_eq "$(shaping measured.rate_walk.why)" null
	steps=$(shaping measured.rate_walk.steps)
	assert_ge "$(shaping measured.rate_walk.lowest)" 2000000
	assert_le "$(shaping measured.rate_walk.highest)" 4000000
	assert_eq "$(shaping 'measured.rate_walk | .lowest < .highest')" true "it walks"
	way=$(shaping 'measured.rate_walk | [.lowest, .highest, .last] | tojson')
	# 600 packets of 1242 bytes take 1.5 to 3 seconds.
	rate=$(jq '.bits_per_second | round' "$tmp/$1.out")
	assert_le "$rate" "$(json '.receipt.network.shaping.measured.rate_walk.highest * 1.07 | round')"
	[ "$steps" -ge 3 ] && [ "$rate" -ge "$(json '.receipt.network.shaping.measured.rate_walk.lowest * 0.93 | round')" ]
}

# Two of the same seed, at once: mostly they take as many steps.
same_walks()
{
	local first_steps first_way

	walk one 3 &
	pids=($!)
	walk two 3 &
	pids+=($!)
	for pid in "${pids[@]}"; do
		wait "$pid"
		assert_eq $? 0 "exit status"
	done
	walked one 3 || return
	first_steps=$steps first_way=$way
	walked two 3 || return
	[ "$steps" -eq "$first_steps" ] || return
	assert_eq "$way" "$first_way" "walk of the same seed"
}

userns &
pid_of_userns=$!
patiently same_walks || fail "the packets go at $rate bit/s, and the last walk took $steps steps"
wait "$pid_of_userns"
assert_eq $? 0 "exit status in a user namespace"
result_of userns
assert_eq "$(shaping 'measured.rate_walk | [.steps >= 1, .why] | tojson')" '[true,null]'
