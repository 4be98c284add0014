#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# menace-netd is in a control group of its own beside the run's, with bounds of processor and memory; it
# goes with the run, and when the supervisor is killed the next start removes it
# security

. "${0%/*}/../../lib/outside.sh"
. "${0%/*}/../../lib/system.sh"
need_cgroups
check_leaks

# The groups of all menace-netd of this test.
names=()
netd_groups()
{
	find /sys/fs/cgroup -mindepth 1 -type d -path '*/menace/*.netd' 2>/dev/null | grep -F "${names[@]}" | sort
}

# A run that waits until its input ends: its supervisor is $supervisor, its menace-netd $netd in the group $path.
begin()
{
	rm -f "$tmp/in" "$tmp/said"
	mkfifo "$tmp/in"
	"$MENACE_RUN" -o "$result" --net allowlist -t "$(scaled 100)" "$@" -- sh -c 'echo; cat' \
		<"$tmp/in" >"$tmp/said" 2>"$tmp/stderr" &
	supervisor=$!
	exec {in}>"$tmp/in"
	wait_until "$(scaled 30)" test -s "$tmp/said" || fail "$(cat "$tmp/stderr")"
	netd=$(pgrep -P "$supervisor" -x menace-netd) || fail "no menace-netd"
	path=$(sed -n 's/^0:://p' "/proc/$netd/cgroup")
	names+=(-e "${path##*/}")
}

# value FILE...: of the first of these files that a group of menace-netd has.
value()
{
	local file group

	for file in "$@"; do
		for group in $(netd_groups); do
			[ -e "$group/$file" ] && cat "$group/$file" && return
		done
	done
	echo none
}

begin
assert_match "$path" '/menace/[0-9a-z]{26}\.netd$' "group of menace-netd"
grep -v '^0::' "/proc/$netd/cgroup" | grep -E ':(memory|cpu|cpu,cpuacct|cpuacct,cpu):' | grep -v '\.netd$' &&
	fail "a hierarchy in which it is elsewhere"
assert_eq "$(value memory.max memory.limit_in_bytes)" 536870912 "memory"
assert_match "$(value cpu.max cpu.cfs_quota_us)" '^100000( 100000)?$' "processor"
exec {in}>&-
wait "$supervisor"
assert_eq "$?" 0 "exit status"
assert_eq "$(json '.receipt.network.answered_by.control_group')" "$path" "receipt"
assert_eq "$(netd_groups)" "" "groups afterwards"

# Under a run that has less than a processor it has as much as that, but a quarter at least.
for share in 0.5:50000 0.1:25000; do
	begin --cpus "${share%:*}"
	assert_match "$(value cpu.max cpu.cfs_quota_us)" "^${share#*:}( 100000)?\$" "processor of ${share%:*}"
	exec {in}>&-
	wait "$supervisor"
done

# Killed while menace-netd cannot even see that: it is frozen.  Stopped by a signal it might go on: the
# kernel wakes those whose session has nobody left.
is_frozen()
{
	grep -q '^frozen 1' "$group/cgroup.events"
}
begin
for group in $(netd_groups); do
	[ ! -e "$group/cgroup.freeze" ] || break
done
echo 1 >"$group/cgroup.freeze"
wait_until 20 is_frozen || fail "menace-netd cannot be frozen"
kill -KILL "$supervisor"
wait "$supervisor"
exec {in}>&-
[ -e "/proc/$netd" ] || fail "menace-netd is gone already"
run -- true
assert_status 0
wait_until 20 test ! -e "/proc/$netd" || fail "menace-netd outlives its run"
assert_eq "$(netd_groups)" "" "groups after the next start"

# Where no group is left for it the run ends before its first instruction, unless that is accepted.
begin
parent=$(netd_groups | while read -r group; do
	[ ! -e "${group%/*}/cgroup.max.descendants" ] || echo "${group%/*}"
done | head -n 1)
[ -n "$parent" ] || fail "no group of menace's"
if [[ $parent != */"$MENACE_TEST_SCOPE"/* ]]; then
	echo "the group of menace's is everybody's: nothing of it is changed"
	exit 0
fi
now=$(awk '$1 == "nr_descendants" { print $2 }' "$parent/cgroup.stat")
# One more is a run's own.
echo $((now + 1)) >"$parent/cgroup.max.descendants"
at_exit sh -c "echo max >'$parent/cgroup.max.descendants' 2>/dev/null"
first=$supervisor first_in=$in
result=$tmp/second.json
run_plain "$MENACE_RUN" -o "$result" --net allowlist -- true
assert_status 125
assert_contains "$stderr" "menace-netd cannot be bounded (--best-effort network-helper goes on without)"
run_plain "$MENACE_RUN" -o "$result" --net allowlist --best-effort network-helper -- true
assert_status 0
assert_eq "$(json '[.receipt.degraded[].item] | tojson')" '["network-helper"]' "what is degraded"
assert_eq "$(json .receipt.network.answered_by.control_group)" null "group in the receipt"
echo max >"$parent/cgroup.max.descendants"
exec {first_in}>&-
wait "$first"
assert_eq "$(netd_groups)" "" "groups afterwards"
