# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# What the system tests share
#
# A test is an executable bash script tests/system/TOPIC/BEHAVIOUR.sh that begins
#
#	. "$(dirname "$0")/../../lib/system.sh"
#
# and then says run, and what must be true.  It ends with 0 when everything was,
# with 1 at the first thing that was not, and with 77 when a need_* finds
# something missing (it prints which).  A line "# serial" keeps other tests from
# running beside it: every test that says check_leaks needs one.
#
# Set here: $tmp (a folder that goes with the test), $MENACE_RUN, $repo.
# Set by run: $status, $stdout, $stderr (without NULs; the bytes are in
# $tmp/stdout and $tmp/stderr), $result (path of the JSON result), $elapsed_ms.

set -u
export LC_ALL=C

repo=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd -P) || exit 1
. "$repo/tests/lib/host.sh"
MENACE_RUN=${MENACE_RUN:-$repo/build/bin/menace-run}
# The machine's own store is none of a test's business; those that want one say where.
export MENACE_STORE=none
# A run that this kernel refuses is refused here, unless a test has an engine or a machine for it.
export DOCKER_HOST=unix:///none MENACE_QEMU_KERNEL=/none/vmlinuz-0
# How much slower than plain hardware this run is: software emulation, sanitizers.
MENACE_SLOWDOWN=${MENACE_SLOWDOWN:-1}

# Looking for leaks is half of what a start costs in a sanitizer build. It is done where a program is kept
# busy, fails or reads input; these topics start the same code again to see what is around it.
case $(basename "$(dirname "$0")") in
export | doctor | flaws | isolation | policy | preset | telemetry)
	[ -z "${ASAN_OPTIONS-}" ] || export ASAN_OPTIONS="$ASAN_OPTIONS:detect_leaks=0"
	;;
esac

exec </dev/null

# --- ending ----------------------------------------------------------------

tmp=$(mktemp -d "${TMPDIR:-/tmp}/menace-test.XXXXXX") || exit 1
chmod 755 "$tmp"
at_exit_commands=()

# at_exit COMMAND...: run when the test ends, last said first.
at_exit()
{
	at_exit_commands=("$(printf '%q ' "$@")" "${at_exit_commands[@]}")
}

end_test()
{
	local code=$? command

	trap - EXIT
	for command in "${at_exit_commands[@]}"; do
		eval "$command"
	done
	rm -rf --one-file-system "$tmp"
	exit "$code"
}
trap end_test EXIT
trap 'exit 1' INT TERM HUP

skip()
{
	echo "SKIP: $*"
	exit 77
}

# Ends the test, with what the last run said.
fail()
{
	local i

	echo "FAIL: $*"
	for ((i = 1; i < ${#BASH_SOURCE[@]}; i++)); do
		[ "${BASH_SOURCE[i]}" = "${BASH_SOURCE[0]}" ] ||
			echo "  at ${BASH_SOURCE[i]}:${BASH_LINENO[i - 1]}"
	done
	if [ -n "${status+set}" ]; then
		echo "  command: ${last_command:-}"
		echo "  status:  $status after ${elapsed_ms:-?} ms"
		echo "  stdout:  $(head -c 2000 "$tmp/stdout" 2>/dev/null | tr -d '\0')"
		echo "  stderr:  $(head -c 2000 "$tmp/stderr" 2>/dev/null | tr -d '\0')"
		[ ! -s "$result" ] || echo "  result:  $(head -c 4000 "$result")"
	fi
	exit 1
}

# --- what a test needs -----------------------------------------------------

need_root()
{
	[ "$(id -u)" -eq 0 ] || skip "not root"
}

need_program()
{
	local program

	for program; do
		command -v "$program" >/dev/null || skip "no program $program"
	done
}

# /usr/bin/NAME in person: programs elsewhere are not in the sandbox's PATH.
need_system_program()
{
	local program

	for program; do
		[ -x "/usr/bin/$program" ] || skip "no program /usr/bin/$program"
	done
}

need_file()
{
	[ -e "$1" ] || skip "no $1"
}

# need_capability NUMBER NAME: in the effective set of this process.
need_capability()
{
	local effective

	effective=$(sed -n 's/^CapEff:\t//p' /proc/self/status)
	((0x$effective >> $1 & 1)) || skip "no capability $2"
}

need_cgroup_mode()
{
	[ "$(cgroup_mode)" = "$1" ] || skip "cgroups are $(cgroup_mode), not $1"
}

need_cgroups()
{
	[ "$(cgroup_mode)" != none ] || skip "no cgroups with limits"
}

# Sets as_user: words that run a command as an unprivileged user.  The programs under test are
# from then on copies that he can start.
need_unprivileged_user()
{
	need_root
	need_program setpriv
	# The build may be below a folder that only root may enter.
	install -m 755 "$MENACE_RUN" "$tmp/menace-run" || fail "cannot copy $MENACE_RUN"
	MENACE_RUN=$tmp/menace-run
	[ -z "${MENACE:-}" ] || install -m 755 "$MENACE" "$tmp/menace" || fail "cannot copy $MENACE"
	MENACE=${MENACE:+$tmp/menace}
	# shellcheck disable=SC2034 # for the tests
	as_user=(setpriv --reuid=65534 --regid=65534 --clear-groups --inh-caps=-all)
}

# --- running ---------------------------------------------------------------

now_ms()
{
	local now=${EPOCHREALTIME/[.,]/}

	echo $((now / 1000))
}

# scaled N: N, made longer where everything is slower.
scaled()
{
	echo $(($1 * MENACE_SLOWDOWN))
}

# preread FILE...: in the page cache, and not at the expense of a sandbox.  The first reader's group
# pays for a page; at its memory limit a group would throw the pages of its own program away and
# read them again, for as long as it is given where reading is slow, rather than run out.
preread()
{
	cat "$@" >/dev/null || fail "read $*"
}

# run_plain COMMAND...: run and keep what it said.
run_plain()
{
	local began

	last_command=$(printf '%q ' "$@")
	began=$(now_ms)
	"$@" >"$tmp/stdout" 2>"$tmp/stderr"
	status=$?
	elapsed_ms=$(($(now_ms) - began))
	stdout=$(tr -d '\0' <"$tmp/stdout")
	stderr=$(tr -d '\0' <"$tmp/stderr")
}

# run [OPTIONS] [--] PROGRAM...: menace-run, its result in $result.
run()
{
	rm -f "$result"
	run_plain "$MENACE_RUN" -o "$result" "$@"
}

# json EXPRESSION: of the result, as jq prints it raw.  gojq starts in a third of the time, which
# many tests spend mostly there; it sorts the keys of an object.
json()
{
	gojq -r "$1" "$result"
}

# wait_until SECONDS COMMAND...: poll until the command succeeds.
wait_until()
{
	local end

	end=$(($(now_ms) + $(scaled "$1") * 1000))
	shift
	until "$@"; do
		[ "$(now_ms)" -lt "$end" ] || return 1
		sleep 0.02
	done
}

# --- what must be true -----------------------------------------------------

# assert_eq ACTUAL EXPECTED [WHAT]
assert_eq()
{
	[ "$1" = "$2" ] || fail "${3:-value} is '$1', not '$2'"
}

assert_ne()
{
	[ "$1" != "$2" ] || fail "${3:-value} is '$1'"
}

# assert_match ACTUAL REGEX [WHAT]
assert_match()
{
	[[ $1 =~ $2 ]] || fail "${3:-text} '$1' does not match '$2'"
}

assert_no_match()
{
	[[ ! $1 =~ $2 ]] || fail "${3:-text} '$1' matches '$2'"
}

# assert_contains ACTUAL TEXT [WHAT]
assert_contains()
{
	[[ $1 == *"$2"* ]] || fail "${3:-text} '$1' does not contain '$2'"
}

assert_not_contains()
{
	[[ $1 != *"$2"* ]] || fail "${3:-text} '$1' contains '$2'"
}

is_number()
{
	[[ $1 =~ ^-?[0-9]+$ ]]
}

# assert_le ACTUAL LIMIT [WHAT], whole numbers
assert_le()
{
	is_number "$1" || fail "${3:-value} is '$1', not a number"
	[ "$1" -le "$2" ] || fail "${3:-value} is $1, over $2"
}

assert_ge()
{
	is_number "$1" || fail "${3:-value} is '$1', not a number"
	[ "$1" -ge "$2" ] || fail "${3:-value} is $1, under $2"
}

assert_absent()
{
	[ ! -e "$1" ] && [ ! -L "$1" ] || fail "$1 exists"
}

assert_status()
{
	assert_eq "$status" "$1" "exit status"
}

assert_reason()
{
	assert_eq "$(json .reason)" "$1" "reason"
}

# assert_refused TEXT...: exit 2, nothing on standard output, each TEXT in the message.
assert_refused()
{
	local text

	assert_status 2
	assert_eq "$stdout" "" "standard output"
	for text; do
		assert_contains "$stderr" "$text" "message"
	done
}

# --- leaks -----------------------------------------------------------------

# Everything of ours that the kernel or a file system holds now, one a line.
list_ours()
{
	find /sys/fs/cgroup -mindepth 1 -type d -path '*/menace/*' -printf 'cgroup %p\n' 2>/dev/null
	# Where the programs in the kernel are pinned for all later runs stays.
	awk '$5 != "/run/menace/bpf" { print "mount", $3, $5 }' /proc/self/mountinfo
	readlink /proc/[0-9]*/ns/net 2>/dev/null | sort -u | sed 's/^/network namespace /'
	awk '$0 ~ "- nsfs " { print "pinned namespace", $4 }' /proc/self/mountinfo
	find /run/menace -xdev -type f ! -name kvm-fails -printf 'lease %p\n' 2>/dev/null
	grep -l -s '/menace/' /proc/[0-9]*/cgroup | sed 's/^/process /'
	grep -l -s '^menace-run$' /proc/[0-9]*/comm | sed 's/^/process /'
}

# check_leaks: now, and again when the test has passed; the test must be serial.
check_leaks()
{
	list_ours | sort -u >"$tmp/ours.before"
	at_exit find_leaks
}

# Tearing a network namespace down goes on after its last process: what is there now and
# at every look for five seconds is a leak.  What comes later is somebody else's.
find_leaks()
{
	[ "$code" -eq 0 ] || return 0
	list_ours | sort -u >"$tmp/ours.left"
	if ! wait_until 5 nothing_left; then
		echo "FAIL: left behind:"
		cat "$tmp/ours.left"
		code=1
	fi
}

nothing_left()
{
	list_ours | sort -u | comm -13 "$tmp/ours.before" - | comm -12 - "$tmp/ours.left" >"$tmp/ours.still"
	mv "$tmp/ours.still" "$tmp/ours.left"
	[ ! -s "$tmp/ours.left" ]
}

result=$tmp/result.json
[ -x "$MENACE_RUN" ] || fail "no $MENACE_RUN: build first, or set MENACE_RUN"
for needed in jq gojq; do
	command -v $needed >/dev/null || skip "no program $needed"
done
