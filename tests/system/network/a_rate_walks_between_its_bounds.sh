#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# MIN_BANDWIDTH and MAX_BANDWIDTH together: a step each second, within both, the same steps with the same seed, and the
# kernel has the rate of the hour
# kernel

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/limits.sh"
. "$repo/tests/lib/link.sh"

need_link
need_program tc nsenter

# The first steps of seed 3, from the middle on: one of at most an eighth of the way, by runtime/supervise/shaping.c.
walk=(3000000 2876001 2939390 3049325 3255041 3296583 3531306 3530142 3669753 3845179 3663268 3786139 3553292 3440492 3215874
	3320860 3219912 3400059 3454035 3392493 3520591 3368320 3138873 3177984 3318016 3325790 3340836 3585123 3550971 3452300
	3399765 3645943 3398087 3304595 3060576 2871255 2662439 2440334 2311032 2490832 2690044)
bounds='{"MIN_BANDWIDTH": "2mbps", "MAX_BANDWIDTH": "4mbps"}'

# begin NAME OPTION...: a run that waits until its input ends, in the background; its program is $payload.
begin()
{
	mkfifo "$tmp/$1.in"
	"$MENACE_RUN" -q -o "$tmp/$1.json" -t "$(scaled 60)" --net loopback --set net.seed=3 -p "$bounds" "${@:2}" -- \
		sh -c 'echo; read -r _' <>"$tmp/$1.in" >"$tmp/$1.out" 2>&1 &
	pids[$1]=$!
	wait_until 30 test -s "$tmp/$1.out" || fail "$1 does not start: $(cat "$tmp/$1.out")"
}

# The rate that the kernel has for the link of that run is one of the walk and not the first.
walks()
{
	local init rate now

	init=$(pgrep -P "${pids[$1]}" | head -n 1)
	now=$(nsenter -t "$init" -n tc -j qdisc show dev lo | gojq -r '.[0].options.rate | if type == "object" then .rate else . end') # bytes a second
	for rate in "${walk[@]:1}"; do
		[ "$now" -ne $((rate / 8)) ] && [ "$now" -ne $(((rate + 7) / 8)) ] || return 0
	done
	return 1
}

# end_of NAME: its steps are the first of that walk, however many there were time for.
end_of()
{
	local steps

	echo >"$tmp/$1.in"
	wait "${pids[$1]}"
	# shellcheck disable=SC2034 # of json
	result=$tmp/$1.json
	steps=$(shaping measured.rate_walk.steps)
	assert_ge "$steps" 1 "steps of $1"
	[ "$steps" -lt ${#walk[@]} ] || fail "$steps steps, of which ${#walk[@]} are known"
	assert_eq "$(shaping 'requested | tojson')" '{"rate_max":4000000,"rate_min":2000000,"seed":3}'
	assert_eq "$(json '.receipt.network.shaping | "\(.state) \(.applied.rate)"')" "enforced 3000000" "rate at the beginning"
	assert_eq "$(shaping 'measured.rate_walk | "\(.lowest) \(.highest) \(.last) \(.seed) \(.why)"')" \
		"$(printf '%s\n' "${walk[@]:0:steps+1}" | sort -n | sed -n '1p;$p' | paste -sd ' ') ${walk[steps]} 3 null" "walk of $1"
}

declare -A pids
begin root
# In a user namespace of its own, too, where the kernel lets an ordinary user have one.
begin userns --userns
for name in root userns; do
	wait_until 30 walks $name || fail "$name: the rate stays, or is none of the walk"
	end_of $name
done
