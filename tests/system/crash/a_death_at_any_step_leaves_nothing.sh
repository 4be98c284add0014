#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# The supervisor, the sandbox's init or the program's process is killed at each step of set-up, run and
# tear-down in turn: who lives reports the step, and after the next start nothing is left
# security

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/runs.sh"

need_root
need_cgroups
check_leaks
doomed=$MENACE_RUN-test # menace-run with runtime/base/die_at.h: it dies where MENACE_DIE_AT says
[ -x "$doomed" ] || fail "no $doomed"

# Steps that no run gets to, with the reason.
declare -A unreachable=(
	[run.setting_up.kill]="a signal that comes before the run is one of nobody's, and nothing holds a set-up until one comes"
	[run.held.failed]="the program's process says nothing once it is ready, and init waits for its exec by vfork"
)

mkdir "$tmp/workspace" "$tmp/temporary" || fail "no folders"
echo kept >"$tmp/workspace/file"
mkfifo "$tmp/ready" "$tmp/go" "$tmp/out" || fail "no fifos"
exec 5<>"$tmp/ready" 6<>"$tmp/go" 7<>"$tmp/out" # both ends: opening waits for nobody
export TMPDIR=$tmp/temporary

# As much as one run can have at once.
rich=(--workspace "$tmp/workspace" --tmpfs /scratch:1M --net stub --mock api.example=body:x
	--set failure.modes=cpu_spike)
shaped=("${rich[@]}" --set net.rate=50mbit) # the kernel takes long for it
living=(sh -c '(setsid sleep 1000 &); rm file; echo >&2; sleep 1000')

# first_child_of PROCESS: sets pid.
first_child_of()
{
	read -r pid _ <"/proc/$1/task/$1/children" # which has no newline at its end
	[ -n "$pid" ] || fail "process $1 has no child"
}

# begin STEP ARGUMENTS...: start a run that dies there; ended waits and sets status and stderr.
begin()
{
	# shellcheck disable=SC2034 # for fail
	last_command="MENACE_DIE_AT='$1' $doomed -q ${*:2}"
	MENACE_DIE_AT=$1 "$doomed" -q -o "$result" "${@:2}" >"$tmp/stdout" 2>"$tmp/stderr" &
	begun=$!
}
ended()
{
	{ wait "$begun"; } 2>/dev/null # the shell tells of a signal
	# shellcheck disable=SC2034 # for assert_status
	status=$?
	read_output
}
die_at()
{
	begin "$@"
	ended
}

# hold STEP: likewise, and it is ready, and held, when this returns.
hold()
{
	begin "$1" --ready-fd 5 --block-fd 6 -- true
	read -r -t "$(scaled 60)" _ <&5 || { ended && fail "not ready"; }
}

# A process that the supervisor had just made holds the lease until it has closed what it inherited: no start
# sweeps before.
# shellcheck disable=SC2317 # called by name
nobody_holds_a_lease()
{
	local leases=(/run/menace/leases/*)

	[ ! -e "${leases[0]}" ] || [ "$(list_stale_leases)" = "$(printf '%s\n' "${leases[@]}")" ]
}
await_nobody()
{
	wait_until 30 nobody_holds_a_lease || fail "after $1 somebody lives on: $(ls /run/menace/leases)"
}

# die STEP: one run that gets to it.
die()
{
	local step=$1

	case $step in
	sweep.*) # needs something to be swept
		die_at run.running.exited "${rich[@]}" -- true
		assert_died run.running.exited
		await_nobody "what is to be swept"
		die_at "$step" -- true
		;;
	child.maps | parent.introduce) die_at "$step" --userns -- true ;;
	child.shape | verify.shaping | undo.shaping | run.setting_up.ready) die_at "$step" "${shaped[@]}" -- true ;;
	launch.netns | undo.netns | child.network | host.*) die_at "$step" -- true ;;
	undo.relay* | run.setting_up.relay)
		# The condition may be one that no other engine makes here.
		die_at "$step" --net loopback --set net.latency_ms=1 --set net.engine=tun -- true
		;;
	run.setting_up.failed) die_at "$step" "${rich[@]}" --cwd /none -- true ;;
	run.setting_up.exited) die_at "$step payload.cwd" "${rich[@]}" -- true ;;
	run.setting_up.lost) die_at "$step child.enter" "${rich[@]}" -- true ;;
	run.held.go)
		hold "$step"
		echo >&6
		ended
		;;
	run.held.exited)
		hold "$step"
		first_child_of "$begun"
		first_child_of "$pid"
		kill -KILL "$pid"
		ended
		;;
	run.held.lost)
		hold "$step"
		first_child_of "$begun"
		kill -KILL "$pid"
		ended
		;;
	run.held.kill)
		hold "$step"
		kill -TERM "$begun"
		ended
		;;
	run.running.failed) die_at "$step" "${rich[@]}" -- /none ;;
	run.running.lost)
		MENACE_DIE_AT=$step "$doomed" -q "${rich[@]}" -- sh -c 'echo; sleep 1000' >&7 2>"$tmp/stderr" &
		begun=$!
		read -r -t "$(scaled 60)" _ <&7 || { ended && fail "the program does not run"; }
		first_child_of "$begun"
		kill -KILL "$pid"
		ended
		;;
	run.running.kill | ending.*) die_at "$step" -t 0.01 "${rich[@]}" -- "${living[@]}" ;;
	*) die_at "$step" "${rich[@]}" -- true ;;
	esac
}

# assert_died STEP: the last run's process got there, and what is left of the run said so.
assert_died()
{
	local name=${1##*.}

	assert_contains "$stderr" "died at $1" "$1: no run gets to it: message"
	case $1 in
	child.*)
		assert_status 125
		assert_contains "$stderr" "the sandbox's init was killed during set-up, at step $name" "$1"
		;;
	payload.limits | payload.close | payload.exec)
		assert_status 137 # the word to go was given: this is the program's own end
		assert_reason signaled
		;;
	payload.*)
		assert_status 125
		assert_contains "$stderr" "the program's process was killed during set-up, at step $name" "$1"
		;;
	undo.*)
		assert_status 137
		assert_reason exited # the result had been written
		;;
	*)
		assert_status 137
		[ ! -s "$result" ] || fail "$1: a result of a supervisor that was killed"
		;;
	esac
}

# nothing_is_left TABLE: after one more start.
nothing_is_left()
{
	local code=0 # of find_leaks, as at the end

	await_nobody "the steps of $1"
	run -- true
	assert_status 0
	assert_eq "$(ls /run/menace/leases)" "" "leases after the steps of $1"
	find_leaks
	[ "$code" -eq 0 ] || fail "after the steps of $1"
	assert_eq "$(find "$TMPDIR" "$tmp/workspace" -mindepth 1)" "$tmp/workspace/file" "files after the steps of $1"
}

run -- true # what stays of any first run
mapfile -t steps < <(MENACE_DIE_AT=list "$doomed")
assert_ge "${#steps[@]}" 100 "steps"
assert_eq "$(printf '%s\n' "${steps[@]}" | sort | uniq -d)" "" "names of more than one step"
for step in "${!unreachable[@]}"; do
	[[ " ${steps[*]} " == *" $step "* ]] || fail "no step $step, of which it is said that it is not reached"
done

table=
for step in "${steps[@]}"; do
	[ -z "$table" ] || [ "$table" = "${step%%.*}" ] || nothing_is_left "$table"
	table=${step%%.*}
	[ -z "${unreachable[$step]-}" ] || continue
	[ ! -e "$result" ] || rm -f "$result"
	die "$step"
	assert_died "$step"
done
nothing_is_left "$table"
