# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# What the system tests share
#
# A test is an executable bash script tests/system/TOPIC/BEHAVIOUR.sh that begins
#
#	. "${0%/*}/../../lib/system.sh"
#
# and then says run, and what must be true.  It ends with 0 when everything was,
# with 1 at the first thing that was not, and with 77 when a need_* finds
# something missing (it prints which).  Lines like "# lane: soak" in its head say where it belongs:
# docs/TESTING.md has them.
#
# A process costs more here than all else a test does, some milliseconds where pages are translated in
# software: what each test needs is done by the shell itself.
#
# Set here: $tmp (a folder that goes with the test), $MENACE_RUN, $repo.
# Set by run: $status, $stdout, $stderr (without NULs; the bytes are in
# $tmp/stdout and $tmp/stderr), $result (path of the JSON result), $elapsed_ms.

set -u
export LC_ALL=C

# Of the system and no others: an interpreter that a developer has put before them may have other modules,
# or be a script that looks for the right one for half a second.
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin

began_in=$PWD
cd -P "${BASH_SOURCE[0]%/*}/../.." || exit 1
repo=$PWD
cd "$began_in" || exit 1
unset began_in
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
case ${0%/*} in
*/export | */doctor | */flaws | */isolation | */policy | */preset | */telemetry)
	[ -z "${ASAN_OPTIONS-}" ] || export ASAN_OPTIONS="$ASAN_OPTIONS:detect_leaks=0"
	;;
esac

exec </dev/null

# --- ending ----------------------------------------------------------------

tmp=${TMPDIR:-/tmp}/menace-test.$$-$SRANDOM
mkdir -m 755 -- "$tmp" || exit 1
at_exit_commands=()

# at_exit COMMAND...: run when the test ends, last said first.
at_exit()
{
	local command

	printf -v command '%q ' "$@"
	at_exit_commands=("$command" "${at_exit_commands[@]}")
}

# Sets mounts: the places below $tmp that something is mounted at, the last one first.
find_mounts_in_tmp()
{
	local place

	mounts=()
	while read -r _ _ _ _ place _; do
		printf -v place '%b' "$place" # a space is \040 there
		[[ $place != "$tmp"/* ]] || mounts=("$place" "${mounts[@]}")
	done </proc/self/mountinfo
}

# A folder of the host that is bound there is on the same file system, so that nothing would stop rm.
remove_tmp()
{
	local place mounts

	find_mounts_in_tmp
	for place in "${mounts[@]}"; do
		umount --lazy -- "$place"
	done
	find_mounts_in_tmp
	if [ ${#mounts[@]} -gt 0 ]; then
		echo "FAIL: $tmp is left: below it is mounted ${mounts[*]}"
		return 1
	fi
	rm -rf --one-file-system "$tmp"
}

end_test()
{
	local code=$? command

	trap - EXIT
	for command in "${at_exit_commands[@]}"; do
		eval "$command"
	done
	remove_tmp || code=1
	exit "$code"
}
trap end_test EXIT
for signal in INT TERM HUP; do
	# shellcheck disable=SC2064 # which one, is known now
	trap "fail 'ended by SIG$signal from outside'" "$signal"
done
unset signal

# with_own_mounts: the test begins once more where what it mounts is nobody else's.  To be said first.
with_own_mounts()
{
	[ -z "${MENACE_TEST_OWN_MOUNTS:-}" ] || return 0
	remove_tmp || exit 1
	MENACE_TEST_OWN_MOUNTS=1 exec unshare --mount --propagation private "$0"
}

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
	[ "$EUID" -eq 0 ] || skip "not root"
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
	local key value

	while read -r key value; do
		[ "$key" != CapEff: ] || break
	done </proc/self/status
	((0x$value >> $1 & 1)) || skip "no capability $2"
}

need_cgroup_mode()
{
	[ "$host_cgroups" = "$1" ] || skip "cgroups are $host_cgroups, not $1"
}

need_cgroups()
{
	[ "$host_cgroups" != none ] || skip "no cgroups with limits"
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
	become_user 65534
}

# become_user UID: as_user is from now on that one.
become_user()
{
	# shellcheck disable=SC2034 # for the tests
	as_user=(setpriv --reuid="$1" --regid="$1" --clear-groups --inh-caps=-all)
}

# need_user_of_its_own: as need_unprivileged_user, with a user that no other test is, as $user, for a
# test whose runs have their leases in /tmp: $user_leases, gone with the test.
need_user_of_its_own()
{
	need_unprivileged_user
	user=$((20000 + $$ % 40000))
	become_user "$user"
	unset XDG_RUNTIME_DIR
	# shellcheck disable=SC2034 # for the tests
	user_leases=/tmp/menace-$user/leases
	at_exit rm -rf --one-file-system "/tmp/menace-$user"
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

	printf -v last_command '%q ' "$@"
	began=${EPOCHREALTIME/[.,]/}
	"$@" >"$tmp/stdout" 2>"$tmp/stderr"
	status=$?
	elapsed_ms=$(((${EPOCHREALTIME/[.,]/} - began) / 1000))
	read_output
}

# read_output: what was said to $tmp/stdout and $tmp/stderr, without NULs, of which the shell would tell.
read_output()
{
	{
		stdout=$(<"$tmp/stdout")
		stderr=$(<"$tmp/stderr")
	} 2>/dev/null
}

# run [OPTIONS] [--] PROGRAM...: menace-run, its result in $result.
run()
{
	[ ! -e "$result" ] && [ ! -L "$result" ] || rm -f "$result"
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
	local end=$((${EPOCHREALTIME/[.,]/} + $1 * MENACE_SLOWDOWN * 1000000))

	shift
	until "$@"; do
		[ "${EPOCHREALTIME/[.,]/}" -lt "$end" ] || return 1
		nap 0.02
	done
}

# nap SECONDS: between two looks; a pipe that nobody writes to costs no process.
nap()
{
	[ -n "${nap_fd-}" ] || exec {nap_fd}<> <(:)
	read -r -t "$1" -u "$nap_fd" _
	return 0
}

# patiently COMMAND...: where times are measured, a machine that others keep busy gets more chances.
patiently()
{
	local i

	for ((i = 0; i < 5; i++)); do
		"$@" && return
	done
	return 1
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

# A test that looks for leaks has a scope of its own: a control group in each hierarchy, a mount namespace with
# tmpfs on /run/menace and a bpf file system there.  What others do meanwhile is outside of it.
#
# Sets own_groups: the folders of this process's groups, one for each hierarchy.
find_own_groups()
{
	local controllers path root place rest

	own_groups=()
	while IFS=: read -r _ controllers path; do
		while read -r _ _ _ root place rest; do
			case $controllers in
			'') [[ $rest == *' - cgroup2 '* ]] || continue ;;
			*) [[ $rest == *' - cgroup '* && ,${rest##* }, == *",${controllers%%,*},"* ]] || continue ;;
			esac
			[ "$root" = / ] || path=${path#"$root"}
			own_groups+=("$place${path%/}")
			break
		done </proc/self/mountinfo
	done </proc/self/cgroup
}

# enter_group FOLDER: this process, into a new group there.  A group of cpusets takes nobody before it has processors.
enter_group()
{
	local file

	mkdir -- "$1" || return 1
	if [ -e "$1/cpuset.mems" ] && [ ! -e "$1/cgroup.controllers" ]; then
		for file in cpuset.cpus cpuset.mems; do
			cat "${1%/*}/$file" >"$1/$file" || return 1
		done
	fi
	echo $$ >"$1/cgroup.procs"
}

# leave_scope: what is left in the test's groups ends, and they go.
leave_scope()
{
	local group left=0

	for group in "${own_groups[@]}"; do
		echo $$ >"$group/cgroup.procs"
	done
	for group in "${own_groups[@]}"; do
		[ ! -e "$group/$scope/cgroup.kill" ] || echo 1 >"$group/$scope/cgroup.kill"
	done
	for group in "${own_groups[@]}"; do
		wait_until 10 remove_groups "$group/$scope" || { echo "FAIL: $group/$scope cannot be removed" && left=1; }
	done
	return $left
}

# shellcheck disable=SC2317 # called by name
remove_groups()
{
	[ ! -d "$1" ] || find "$1" -depth -type d -exec rmdir {} + 2>/dev/null
	[ ! -d "$1" ]
}

# The test begins once more in its scope; the caller waits, and takes the scope away.
begin_in_scope()
{
	local group code child

	remove_tmp || exit 1
	trap - EXIT
	find_own_groups
	scope=menace-test.$$-$SRANDOM
	for group in "${own_groups[@]}"; do
		enter_group "$group/$scope" || { echo "FAIL: cannot make the group $group/$scope" && leave_scope && exit 1; }
	done
	# shellcheck disable=SC2016 # for the shell inside
	MENACE_TEST_SCOPE=$scope unshare --mount --propagation private bash -c 'mkdir -p -m 755 /run/menace &&
		mount -t tmpfs -o mode=755 menace-test /run/menace && exec bash "$@"' bash "$0" &
	child=$!
	trap 'kill -TERM $child' INT TERM HUP
	until wait "$child"; code=$?; ! kill -0 "$child" 2>/dev/null; do :; done
	leave_scope || code=1
	exit "$code"
}

# Sets leaks_now: everything in the scope that the kernel or a file system holds now, as its keys.  A host with
# nothing but v2 has the groups of root's runs in its root, where those of others come and go.
declare -A leaks_now=() leaks_before=() leaks_left=()
list_ours()
{
	local line number root place rest pid link

	leaks_now=()
	while IFS= read -r line; do
		leaks_now[$line]=1
	done < <(
		find "${own_groups[@]}" -mindepth 1 -type d -path '*/menace/*' -printf 'cgroup %p\n' 2>/dev/null
		[ "$host_cgroups" != v2 ] || find /sys/fs/cgroup/menace -mindepth 1 -type d -printf 'cgroup %p\n' 2>/dev/null
		find /run/menace -xdev -type f ! -name kvm-fails ! -name 'template-*' -printf 'lease %p\n' 2>/dev/null
	)
	# Where the programs in the kernel are pinned for all later runs stays.
	while read -r _ _ number root place rest; do
		[ "$place" = /run/menace/bpf ] || leaks_now["mount $number $place"]=1
		[[ $rest != *'- nsfs '* ]] || leaks_now["pinned namespace $root"]=1
	done </proc/self/mountinfo
	for pid in $(find "${own_groups[@]}" -name cgroup.procs -exec cat {} + 2>/dev/null | sort -u); do
		link=$(readlink "/proc/$pid/ns/net" 2>/dev/null) && leaks_now["network namespace $link"]=1
		case $(cat "/proc/$pid/comm" 2>/dev/null) in
		menace* | '') [ ! -d "/proc/$pid" ] || leaks_now["process $pid"]=1 ;;
		*) ! grep -qs '/menace/' "/proc/$pid/cgroup" || leaks_now["process $pid"]=1 ;;
		esac
	done
}

# check_leaks: now, and again when the test has passed.  To be said before the test makes anything: it begins
# once more, and what need_unprivileged_user has copied is gone by then.
check_leaks()
{
	local line

	[[ $MENACE_RUN != "$tmp"/* ]] || fail "check_leaks is to be said before need_unprivileged_user"
	[ -n "${MENACE_TEST_SCOPE-}" ] || [ "$EUID" -ne 0 ] || begin_in_scope
	find_own_groups
	list_ours
	for line in "${!leaks_now[@]}"; do
		leaks_before[$line]=1
	done
	at_exit find_leaks
}

# Tearing a network namespace down goes on after its last process: what is there now and
# at every look for half a minute, which is less than a test of the gate may take, is a leak.  What comes
# later is somebody else's.
find_leaks()
{
	local line

	[ "$code" -eq 0 ] || return 0
	list_ours
	for line in "${!leaks_now[@]}"; do
		[ -n "${leaks_before[$line]-}" ] || leaks_left[$line]=1
	done
	if ! wait_until 30 nothing_left; then
		echo "FAIL: left behind:"
		printf '%s\n' "${!leaks_left[@]}"
		code=1
	fi
}

nothing_left()
{
	local line

	[ ${#leaks_left[@]} -gt 0 ] || return 0
	list_ours
	for line in "${!leaks_left[@]}"; do
		[ -n "${leaks_now[$line]-}" ] || unset "leaks_left[$line]"
	done
	[ ${#leaks_left[@]} -eq 0 ]
}

result=$tmp/result.json
[ -x "$MENACE_RUN" ] || fail "no $MENACE_RUN: build first, or set MENACE_RUN"
for needed in jq gojq; do
	command -v $needed >/dev/null || skip "no program $needed"
done
