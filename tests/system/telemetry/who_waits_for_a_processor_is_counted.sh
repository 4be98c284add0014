#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# What processes of a run waited for a processor, as the scheduler itself tells it in /proc/PID/schedstat, is in the counter
# and in the distribution

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/telemetry.sh"

need_telemetry
need_file /proc/self/schedstat
# Both want the first that we may have.
allowed=$(sed -n 's/^Cpus_allowed_list:\t//p' /proc/self/status)

# shellcheck disable=SC2016 # is expanded in the sandbox
run -q -t "$(scaled 60)" --ro "$helper:/processes" -- \
	sh -c '/processes busy "$1" 150 & /processes busy "$1" 150; wait' sh "${allowed%%[-,]*}"
assert_status 0
assert_eq "$(wc -l <"$tmp/stdout")" 2 "busy ones"
waited=$(awk '{ n += $1 } END { printf "%.0f\n", n }' "$tmp/stdout")
assert_ge "$waited" 1 "ns that they waited"
# Init and the shell wait as well.
delay=$(json .telemetry.counters.run_delay_ns)
assert_ge "$delay" "$waited" "ns counted"
# Bucket b is for 2^b to 2^(b+1) us.
least=$(json '[.telemetry.histograms[] | select(.name == "cpu_wait") | .buckets[] | select(.bucket >= 0)
	| .count * pow(2; .bucket)] | add * 1000 | floor')
most=$(json '[.telemetry.histograms[] | select(.name == "cpu_wait") | .buckets[] | .count * pow(2; .bucket + 1)] | add * 1000 | ceil')
assert_ge "$delay" "$least" "ns counted, against the distribution"
assert_ge "$most" "$waited" "ns of the distribution"
assert_books
