# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# What the tests of limits, output and supervision share; after system.sh
#
# Set here: $helpers, the folder of the programs of tests/helpers; they are shown
# inside as /helpers.

helpers=${MENACE_HELPERS:-$repo/build/bin/helpers}

# Limits of the kernel's: without a group for us there is nothing to test here.
need_limits()
{
	need_root
	need_cgroups
	[ -x "$helpers/eat-memory" ] || skip "no test helpers in $helpers"
	preread "$helpers/eat-memory"
}

# An address sanitizer's memory is not the program's.
need_plain_build()
{
	! grep -q -a __asan_init "$MENACE_RUN" || skip "memory of a sanitizer build is its own"
}

# run_helper [OPTION...] -- HELPER ARG...
run_helper()
{
	local options=()

	while [ "$1" != -- ]; do
		options+=("$1")
		shift
	done
	run --ro "$helpers:/helpers" "${options[@]}" -- "/helpers/$2" "${@:3}"
}

# Where run does not measure: from here
start_clock()
{
	began=${EPOCHREALTIME/[.,]/}
}

# to here, for assert_soon.
stop_clock()
{
	elapsed_ms=$(((${EPOCHREALTIME/[.,]/} - began) / 1000))
}

# start [OPTION...] -- PROGRAM...: menace-run in the background, as $supervisor.
start()
{
	rm -f "$result" "$tmp/stdout" "$tmp/stderr" # what an earlier one said is not this one's
	# shellcheck disable=SC2034 # for fail
	printf -v last_command '%q ' "$MENACE_RUN" "$@"
	: >"$tmp/stdout"
	start_clock
	# A shell has its background jobs ignore Ctrl-C, and what is ignored stays so.
	env --default-signal=INT,QUIT "$MENACE_RUN" -o "$result" --ro "$helpers:/helpers" "$@" \
		>"$tmp/stdout" 2>"$tmp/stderr" &
	supervisor=$!
}

# The end of what start began; sets what run sets.
# shellcheck disable=SC2034 # for the tests
finish()
{
	wait "$supervisor"
	status=$?
	stop_clock
	read_output
}

# wait_for_line TEXT: the payload has said it.
wait_for_line()
{
	wait_until 20 grep -q -x -- "$1" "$tmp/stdout" || fail "the payload never said '$1'"
}

# limits_hit: as one line, "memory pids".
limits_hit()
{
	json '.limits_hit | join(" ")'
}

# assert_ended STATUS REASON [LIMITS]
assert_ended()
{
	assert_status "$1"
	assert_reason "$2"
	assert_eq "$(limits_hit)" "${3-}" "limits hit"
}

# assert_at_ease: ended by itself, with 0, and no limit was in the way.
assert_at_ease()
{
	assert_ended 0 exited
	assert_eq "$(json .oom.kills)" 0 "OOM kills"
	assert_eq "$(json .oom.level)" null "OOM level"
	assert_eq "$(json .leftover_killed)" 0 "leftovers"
	assert_eq "$stderr" "" "standard error"
}

# assert_oom: of the sandbox's own limit.
assert_oom()
{
	assert_ended 137 oom memory
	assert_ge "$(json .oom.kills)" 1 "OOM kills"
	assert_eq "$(json .oom.level)" sandbox "OOM level"
	assert_contains "$stderr" ": oom after "
}

# assert_held_back MS: the last run took as long as its share says and no less, and the kernel held it back.
# The share is to be a twentieth of a processor: so much a program gets on a busy machine, too.
assert_held_back()
{
	assert_at_ease
	assert_eq "$(json .receipt.cgroup.limits.cpu_quota_us.value)" 5000 "quota"
	assert_ge "$(json .usage.wall_us)" $(($1 * 800)) "wall clock"
	assert_ge "$(json .usage.cpu.throttled_us)" 1 "microseconds held back"
	assert_ge "$(json .usage.cpu.throttled_periods)" 1 "periods held back"
}

# assert_cpu_killed MS LIMITS: the last run was killed when it had used so much CPU time.
assert_cpu_killed()
{
	assert_ended 137 cpu_limit "$2"
	assert_ge "$(json .usage.cpu.usage_us)" $(($1 * 1000)) "CPU time"
}

# assert_ran_for MS: not less.
assert_ran_for()
{
	assert_ge "$(json .usage.wall_us)" $(($1 * 1000)) "wall clock"
}

# Limits of wall clock, in ms, to be tried one after the other until the program has come as far as a
# test needs before its time is over: the first is enough where it is not kept from running.
# shellcheck disable=SC2034 # for the tests
time_limits=(1000 4000 16000)

# assert_soon AFTER_MS: not before, and not long after: what would not end by itself lasts a minute.  A bound
# on time, and so for the lane soak alone.
assert_soon()
{
	assert_ge "$elapsed_ms" "$1" "elapsed milliseconds"
	assert_le "$elapsed_ms" $(($1 + $(scaled 10000))) "elapsed milliseconds"
}

# lives PID: a child that has ended and was not waited for does not.
lives()
{
	local key state

	while read -r key state _; do
		[ "$key" != State: ] || break
	done 2>/dev/null <"/proc/$1/status"
	[ "${key-}" = State: ] && [ "$state" != Z ]
}

# assert_refuses OPTION VALUE...: each with exit 2, named, before anything runs.
assert_refuses()
{
	local option=$1 value

	shift
	for value; do
		if [[ $option == *=* ]]; then
			run "--set" "$option$value" -- echo ran
		else
			run "$option=$value" -- echo ran
		fi
		assert_refused "$value"
		[ ! -s "$result" ] || fail "$option $value: there is a result"
	done
}
