#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Loss and loss in bursts, duplication, corruption: as many packets as asked, within the
# interval of 99 %, by whatever engine this kernel has; and the receipt tells as many
# lane: soak (statistics of random draws)

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/limits.sh"
. "$repo/tests/lib/link.sh"

need_link

packets=6000
all=100000000

lost()
{
	shaped "loss_percent=$1"
	send $packets 64 0 $all 100
	assert_eq "$(shaping applied.loss_percent)" "$1" "applied loss"
	within "$(link lost)" $packets "$2"
}

twice lost 0.1 0.001 || fail "0.1 %: $link"
twice lost 1 0.01 || fail "1 %: $link"
twice lost 5 0.05 || fail "5 %: $link"
twice lost 10 0.1 || fail "10 %: $link"
assert_eq "$(link bursts | awk '{ print ($1 > 400) }')" 1 "losses stand alone mostly: $link"

# A partition.
shaped loss_percent=100
send 200 64 0 $all 100
assert_eq "$(link lost)" 200 "lost of a partition"

repeated()
{
	shaped duplicate_percent=5
	send $packets 64 0 $all 20000 # all of them come
	[ "$(link lost)" = 0 ] || return
	within "$(link repeated)" $packets 0.05
}
twice repeated || fail "5 % doubled: $link"

# Who receives a damaged packet throws it away.  A flipped bit need not be found by a
# checksum, and may hit what does not matter: netem's are somewhat fewer.
damaged()
{
	shaped corrupt_percent=10
	send $packets 64 0 $all 100
	within "$(link lost)" $packets 0.1 && return
	[ "$(shaping engine)" = netem ] && [ "$(link lost)" -gt $((packets * 8 / 100)) ] &&
		[ "$(link lost)" -lt $((packets * 105 / 1000)) ]
}
twice damaged || fail "10 % damaged: $link"

# Gilbert-Elliott: bad for 5 packets on average, after 95 good ones; the correlation from packet to
# packet is 1 - 0.2 - 0.0105, and with it the variance grows.
bursts()
{
	shaped ge_p_percent=1.05 ge_r_percent=20
	send $packets 64 0 $all 100
	within "$(link lost)" $packets 0.0499 8.5 &&
		near "$(link bursts)" "$((packets * 105 / 10500))" 30 &&
		near "$(jq .lost/.bursts <<<"$link")" 5 30
}
# Three tests of 97 % in one.
twice bursts || bursts || fail "Gilbert-Elliott: $link"

# All at once, both ways of the receipt.
shaped loss_percent=2 duplicate_percent=3 seed=11
send $packets 64 0 $all 1000
assert_eq "$(shaping state)" enforced
assert_eq "$(shaping 'requested | tojson')" '{"duplicate_percent":3,"loss_percent":2,"seed":11}'
assert_eq "$(shaping applied.seed)" 11 "seed in force"
if [[ $(shaping engine) == *tc-bpf* ]]; then
	assert_eq "$(shaping measured.duplicated)" "$(shaping "measured.arrived + .receipt.network.shaping.measured.lost - $packets")" "doubled"
	assert_eq "$(shaping measured.arrived)" "$(link came)" "arrived"
fi
