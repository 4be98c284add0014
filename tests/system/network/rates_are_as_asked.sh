#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# 1, 10 and 100 Mbit/s within 3 %, measured where packets arrive
# lane: soak (measures rates)

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/limits.sh"
. "$repo/tests/lib/link.sh"

need_link

# rate KNOBS BITS COUNT SIZE.  None is lost, so that each is waited for as long as it takes.
rate()
{
	# shellcheck disable=SC2086 # words
	shaped $1
	send "$3" "$4" 0 600 20000
	assert_eq "$(link lost)" 0 "lost at $1"
	assert_eq "$(shaping applied.rate)" "$2" "applied rate"
	[ "$(link waited)" -ge 1500 ] && near "$(link bits_per_second)" "$2" 3
}

# Whoever sends is kept waiting now and then, and what the queue has saved meanwhile goes at once.
no_faster()
{
	rate "$@"
	[ "$(link bits_per_second)" -le $(($2 * 103 / 100)) ]
}

patiently rate rate=1mbit 1000000 2000 100 || fail "1 Mbit/s: $link"
patiently rate rate=10mbit 10000000 2000 1472 || fail "10 Mbit/s: $link"
# An emulated machine may not carry that much, whatever is asked: then only that it is not more.
shaped rate=10gbit
send 3000 1472 0 600 20000
carries=$(link bits_per_second)
if [ "$carries" -ge 130000000 ] || [ "$MENACE_SLOWDOWN" -eq 1 ]; then
	patiently rate rate=100mbit 100000000 6000 1472 || fail "100 Mbit/s: $link"
else
	echo "100 Mbit/s only from above: this machine carries $carries bit/s"
	patiently no_faster rate=100mbit 100000000 2000 1472 || fail "over 100 Mbit/s: $link"
fi

# The lower one of two holds, and MAX_BANDWIDTH alone.
patiently rate "rate=50mbit rate_max=10mbit" 10000000 2000 1472 || fail "rate_max under rate: $link"
assert_eq "$(shaping 'requested | tojson')" '{"rate":50000000,"rate_max":10000000}'

# What there is no room for is told apart from losses.
shaped rate=1mbit
send 1500 64 0 100000000 300
lost=$(link lost)
assert_eq "$(shaping measured.lost)" 0 "lost on purpose"
[ "$(shaping engine)" != netem ] || assert_ge "$lost" 1 "lost for want of room"
assert_le "$(shaping measured.dropped_by_limit)" "$lost" "dropped by the limit"
