#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Run-queue latency is that of whoever waits for a processor, as the scheduler itself tells it in /proc/PID/schedstat,
# and never that of who woke him: one in the run counts what he waits and not who from outside woke him, and the wait of
# one outside is not his who woke him from inside
#
# lane: soak (shares of a processor that others use as well)

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/telemetry.sh"

need_telemetry
need_program taskset
need_file /proc/self/schedstat
# The first and the last that we may have; the same where there is but one.
allowed=$(sed -n 's/^Cpus_allowed_list:\t//p' /proc/self/status)
cpu=${allowed%%[-,]*}
other=${allowed##*[-,]}
shared=$tmp/shared
mkdir "$shared"
mkfifo "$shared/pipe"
chmod 777 "$shared"
chmod 666 "$shared/pipe"

sum()
{
	awk '{ n += $1 } END { printf "%.0f\n", n }' "$@"
}

# about DELAY WAITED WHO: what was counted is what those waited, and at most a quarter and 100 ms more, for init and the shell.
about()
{
	echo "$3: $1 ns counted, $2 ns waited"
	[ "$1" -ge "$2" ] && [ "$1" -le $(($2 + $2 / 4 + $(scaled 100000000))) ]
}

# Two for one processor: each waits while the other runs.
two_busy()
{
	local delay waited

	# shellcheck disable=SC2016 # is expanded in the sandbox
	run -q -t "$(scaled 60)" --ro "$helper:/processes" -- \
		sh -c '/processes busy "$1" 400 & /processes busy "$1" 400; wait' sh "$cpu"
	assert_status 0
	assert_eq "$(wc -l <"$tmp/stdout")" 2 "busy ones"
	delay=$(json .telemetry.counters.run_delay_ns)
	waited=$(sum "$tmp/stdout")
	# One began later than the other, so not each waits for all of the 400 ms.
	[ "$waited" -ge 300000000 ] && about "$delay" "$waited" "two busy ones" && of_the_histogram "$delay" "$waited"
}

# of_the_histogram DELAY WAITED: bucket b is for 2^b to 2^(b+1) us.
of_the_histogram()
{
	local least most

	least=$(json '[.telemetry.histograms[] | select(.name == "cpu_wait") | .buckets[] | select(.bucket >= 0)
		| .count * pow(2; .bucket)] | add * 1000 | floor')
	most=$(json '[.telemetry.histograms[] | select(.name == "cpu_wait") | .buckets[]
		| .count * pow(2; .bucket + 1)] | add * 1000 | ceil')
	echo "histogram: $least to $most ns"
	[ "$least" -le "$1" ] && [ "$most" -ge "$2" ]
}

woken_inside()
{
	local waker

	"$helper" wake "$other" 20 "$shared/pipe" >"$tmp/waker" &
	waker=$!
	run_inside --rw "$shared:/shared" -- woken "$cpu" 10 /shared/pipe
	wait "$waker" || fail "the waker: $?"
	assert_status 0
	[ "$stdout" -ge 50000000 ] && about "$(json .telemetry.counters.run_delay_ns)" "$stdout" "woken inside"
}

woken_outside()
{
	local woken waited delay

	"$helper" woken "$cpu" 10 "$shared/pipe" >"$tmp/woken" &
	woken=$!
	run_inside --rw "$shared:/shared" -- wake "$other" 20 /shared/pipe
	wait "$woken" || fail "the woken: $?"
	assert_status 0
	waited=$(cat "$tmp/woken")
	delay=$(json .telemetry.counters.run_delay_ns)
	echo "woken outside: he waited $waited ns, who woke him $stdout ns, $delay ns counted"
	[ "$waited" -ge 50000000 ] && [ "$delay" -ge "$stdout" ] && [ "$delay" -le $((stdout + waited / 2)) ]
}

patiently two_busy || fail "the waits of two busy ones"
"$helper" spin 3600000 &
spinner=$!
at_exit kill "$spinner"
taskset -cp "$cpu" "$spinner" >/dev/null || fail "taskset: $?"
patiently woken_inside || fail "the wait of one who is woken inside"
patiently woken_outside || fail "the wait of one who is woken outside"
assert_books
