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
	began=$(now_ms)
}

# to here, for assert_soon.
stop_clock()
{
	elapsed_ms=$(($(now_ms) - began))
}

# start [OPTION...] -- PROGRAM...: menace-run in the background, as $supervisor.
start()
{
	rm -f "$result" "$tmp/stdout" "$tmp/stderr" # what an earlier one said is not this one's
	# shellcheck disable=SC2034 # for fail
	printf -v last_command '%q ' "$MENACE_RUN" "$@"
	start_clock
	"$MENACE_RUN" -o "$result" --ro "$helpers:/helpers" "$@" \
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

# assert_held_back MS RUN...: so long takes by its share what RUN does; the kernel says that it held it
# back, unless it took longer: on a busy host the share may be more than there is to get, and where it
# is about as much, there is nothing to hold back in one run and something in the next.
assert_held_back()
{
	share_ms=$1
	shift
	patiently is_held_back "$@" || fail "throttled for $(json .usage.cpu.throttled_us) us"
}

is_held_back()
{
	local wall

	"$@"
	assert_at_ease
	wall=$(json .usage.wall_us)
	assert_ge "$wall" $((share_ms * 800)) "wall clock"
	[ "$wall" -gt $((share_ms * 1100)) ] ||
		[ "$(json '.usage.cpu | .throttled_us >= 1 and .throttled_periods >= 1')" = true ]
}

# assert_cpu_killed MS MORE_MS LIMITS RUN...: RUN is killed when it has used so much CPU time, and has
# used little more by then.  What others keep the supervisor from seeing runs on, so that is asked of
# one run of a few, all of which are killed.
assert_cpu_killed()
{
	cpu_limit_us=$(($1 * 1000)) cpu_more_us=$(($(scaled "$2") * 1000)) cpu_limits_hit=$3
	shift 3
	patiently is_cpu_killed "$@" ||
		fail "CPU time is $(json .usage.cpu.usage_us) us, of $cpu_limit_us allowed; limits hit: $(limits_hit)"
}

is_cpu_killed()
{
	local usage

	"$@"
	[ "$(limits_hit)" = "$cpu_limits_hit" ] || return 1
	assert_ended 137 cpu_limit "$cpu_limits_hit"
	usage=$(json .usage.cpu.usage_us)
	assert_ge "$usage" "$cpu_limit_us" "CPU time"
	[ "$usage" -le $((cpu_limit_us + cpu_more_us)) ]
}

# Limits of wall clock, in ms, to be tried one after the other until the program has come as far as a
# test needs before its time is over: the first is enough where it is not kept from running.
# shellcheck disable=SC2034 # for the tests
time_limits=(1000 4000 16000)

# assert_soon AFTER_MS: not before, and not long after: what would not end by itself lasts a minute.
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
