#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# The same seed loses, doubles and damages the same packets each time; another one, and none, others.  Our own program
# draws those that are written here on each machine, and the receipt tells as many
# kernel

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/limits.sh"
. "$repo/tests/lib/link.sh"

need_link

# begin NAME CONDITION...: 2000 packets, in the background; nothing delays them, and what has not come a moment after the last
# one is lost.  All wait at once.
declare -A pids
begin()
{
	shaped "${@:2}"
	"$MENACE_RUN" -q -o "$tmp/$1.json" -t "$(scaled 60)" --ro "$helpers:/helpers" "${options[@]}" -- \
		/helpers/net-link 2000 64 0 100000000 "$(scaled 1500)" >"$tmp/$1.out" &
	pids[$1]=$!
}

# end_of NAME: sets print (which packets were lost, by a hash of their numbers; how many, in how many bursts; how many came
# twice) and result, of which the others are.
end_of()
{
	wait "${pids[$1]}"
	assert_eq $? 0 "exit status of $1"
	# shellcheck disable=SC2034 # of json
	result=$tmp/$1.json
	print=$(gojq -r '"\(.which) \(.lost) \(.bursts) \(.repeated)"' "$tmp/$1.out")
}

begin one engine=bpf loss_percent=5 duplicate_percent=2 seed=1
begin again engine=bpf loss_percent=5 duplicate_percent=2 seed=1
begin last engine=bpf loss_percent=5 duplicate_percent=2 seed=9007199254740991
begin bursts engine=bpf ge_p_percent=1.05 ge_r_percent=20 seed=7
begin damaged engine=bpf corrupt_percent=10 seed=7
begin drawn loss_percent=5 duplicate_percent=2

for name in one again; do
	end_of $name
	assert_eq "$print" "d09e3cd1342ce66c 108 104 39" "packets of seed 1"
	assert_eq "$(shaping 'requested | tojson')" '{"duplicate_percent":2,"loss_percent":5,"seed":1}'
	assert_eq "$(json '.receipt.network.shaping | "\(.state) \(.applied.seed) \(.applied.loss_percent) \(.applied.duplicate_percent)"')" "enforced 1 5 2"
	assert_eq "$(shaping 'measured | .duplicated == .arrived + .lost - 2000')" true "what the receipt counts"
	assert_eq "$(shaping measured.arrived)" "$(gojq .came "$tmp/$name.out")" "packets that arrived"
done
end_of last
assert_eq "$print" "adad0bc72811875f 111 108 33" "packets of the last seed"
assert_eq "$(shaping applied.seed)" 9007199254740991 "seed in force"
end_of bursts
assert_eq "$print" "e9aaf3f118b6606e 81 26 0" "packets lost in bursts"
assert_eq "$(shaping 'measured | "\(.lost) \(.arrived)"')" "81 1919"
# Who receives a damaged packet throws it away.
end_of damaged
assert_eq "$print" "f8facf614eebff4f 190 171 0" "packets that were damaged"
assert_eq "$(shaping 'measured | "\(.lost) \(.corrupted) \(.arrived)"')" "0 190 2000"

# Without a seed one is drawn by our own program, and told: it can be asked for.
end_of drawn
first=$print
assert_ne "${first%% *}" d09e3cd1342ce66c "packets lost without a seed"
if [[ $(shaping engine) == *tc-bpf* ]]; then
	begin redrawn loss_percent=5 duplicate_percent=2 "seed=$(shaping applied.seed)"
else # netem draws, and tells nothing
	begin drawn loss_percent=5 duplicate_percent=2 seed=12
	end_of drawn
	first=$print
	begin redrawn loss_percent=5 duplicate_percent=2 seed=12
fi
end_of redrawn
assert_eq "$print" "$first" "packets lost with the seed that was drawn"
