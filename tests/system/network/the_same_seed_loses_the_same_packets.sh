#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# The same seed loses the same packets three times; another one, and none, lose others

. "$(dirname "$0")/../../lib/system.sh"
. "$repo/tests/lib/limits.sh"
. "$repo/tests/lib/link.sh"

need_link

print_of()
{
	shaped loss_percent=5 duplicate_percent=2 "$@"
	send 2000 64 0 100000000 100
	print="$(link which) $(link repeated)"
}

for seed in 1 9007199254740991; do
	print_of seed=$seed
	first=$print
	assert_eq "$(shaping applied.seed)" $seed "seed in force"
	for _ in 1 2; do
		print_of seed=$seed
		assert_eq "$print" "$first" "packets lost with seed $seed"
	done
	assert_not_contains "${seen:-}" "$(link which)" "packets lost with other seeds"
	seen="${seen:-} $(link which)"
done

# Without a seed one is drawn, and told: it can be asked for.
print_of
first=$print
assert_not_contains "$seen" "$(link which)" "packets lost without a seed"
if [[ $(shaping engine) == *tc-bpf* ]]; then
	print_of "seed=$(jq -r '.receipt.network.shaping.applied.seed | tostring' "$result")"
	assert_eq "$print" "$first" "packets lost with the seed that was drawn"
fi
