#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# The same seed loses the same packets three times; another one, and none, lose others

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/limits.sh"
. "$repo/tests/lib/link.sh"

need_link

print_of()
{
	shaped loss_percent=5 duplicate_percent=2 "$@"
	send 2000 64 0 100000000 100
	print="$(link which) $(link repeated)"
}

# same SEED: what is lost with it three times; 1: on a busy machine a packet that is late counts as lost, too.
same()
{
	print_of "seed=$1"
	first=$print
	assert_eq "$(shaping applied.seed)" "$1" "seed in force"
	for _ in 1 2; do
		print_of "seed=$1"
		[ "$print" = "$first" ] || return
	done
}
for seed in 1 9007199254740991; do
	patiently same $seed || fail "packets lost with seed $seed: $print, and before $first"
	assert_not_contains "${seen:-}" "$(link which)" "packets lost with other seeds"
	seen="${seen:-} $(link which)"
done

# Without a seed one is drawn, and told: it can be asked for.
drawn_again()
{
	print_of
	first=$print
	assert_not_contains "$seen" "$(link which)" "packets lost without a seed"
	[[ $(shaping engine) == *tc-bpf* ]] || return 0
	print_of "seed=$(jq -r '.receipt.network.shaping.applied.seed | tostring' "$result")"
	[ "$print" = "$first" ]
}
patiently drawn_again || fail "packets lost with the seed that was drawn: $print, and before $first"
