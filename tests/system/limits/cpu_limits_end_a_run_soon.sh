#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# What has used up its CPU time is killed soon after: it has used little more by then.  The group's clock
# and the kernel's sum over processes differ by what the set-up took at most
# security
# lane: soak (bounds on CPU time)

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/limits.sh"

need_limits

# assert_killed_soon MS MORE_MS LIMITS RUN...: what others keep the supervisor from seeing runs on, so that is asked
# of one run of a few, all of which are killed.
assert_killed_soon()
{
	patiently is_killed_soon "$@" || fail "CPU time is $(json .usage.cpu.usage_us) us, of $1 ms allowed"
}
is_killed_soon()
{
	"${@:4}"
	assert_cpu_killed "$1" "$3"
	[ "$(json .usage.cpu.usage_us)" -le $((($1 + $(scaled "$2")) * 1000)) ]
}
assert_killed_soon 500 500 cpu_time run_helper --cpu-time 500ms -t 60 -- eat-cpu 100000
assert_killed_soon 800 500 cpu_time run_helper --cpu-time 800ms -t 60 -- eat-cpu 400 4 1 1000
assert_killed_soon 500 500 cpu_time run_helper --cpu-time 500ms -t 60 -- eat-cpu 10 2 1 10000
assert_killed_soon 1000 1500 "cpu_time pids" run_helper --pids 64 --cpu-time 1 -t 60 -- fork-bomb forever

agree()
{
	run_helper -- eat-cpu 400 2
	assert_at_ease
	[ "$(json '.usage.cpu | .difference_us >= -'"$(scaled 20000)"' and .difference_us <= '"$(scaled 100000)"' and
		(.user_us + .system_us - .usage_us | fabs) <= 10000')" = true ]
}
patiently agree || fail "$(json '.usage.cpu | tojson')"
