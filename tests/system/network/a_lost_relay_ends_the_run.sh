#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# The relay is confined and in a control group of its own; when it dies the run ends, when menace-run dies
# it does, and no device, namespace, group or process is left
# security

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/limits.sh"
. "$repo/tests/lib/link.sh"

with_own_network
need_tun
need_cgroups
need_program ip
check_leaks
ip -o link >"$tmp/links"

# The groups of all relays of this test.
names=()
relay_groups()
{
	find /sys/fs/cgroup -mindepth 1 -type d -path '*/menace/*.relay' 2>/dev/null | grep -F "${names[@]}" | sort
}

# A run that waits until its input ends: its supervisor is $supervisor, its relay $relay in the group $path.
begin()
{
	rm -f "$tmp/in" "$tmp/said"
	mkfifo "$tmp/in"
	"$MENACE_RUN" -o "$result" --net loopback --set net.latency_ms=50 --set net.engine=tun \
		-t "$(scaled 60)" "$@" -- sh -c 'echo; cat' <"$tmp/in" >"$tmp/said" 2>"$tmp/stderr" &
	supervisor=$!
	exec {in}>"$tmp/in"
	wait_until 30 test -s "$tmp/said" || fail "$(cat "$tmp/stderr")"
	relay=$(pgrep -P "$supervisor" -x menace-netd) || fail "no menace-netd"
	path=$(sed -n 's/^0:://p' "/proc/$relay/cgroup")
	names+=(-e "${path##*/}")
}

gone()
{
	[ ! -d "/proc/$1" ] || grep -q '^State:.*Z' "/proc/$1/status" 2>/dev/null
}

# value FILE...: of the first of these files that a group of the relay has.
value()
{
	local file group

	for file in "$@"; do
		for group in $(relay_groups); do
			[ -e "$group/$file" ] && cat "$group/$file" && return
		done
	done
	echo none
}

# With less than a processor for the payload the relay still has one.
begin --cpus 0.2
status_of() { sed -n "s/^$1:[[:space:]]*//p" "/proc/$relay/status"; }
for set in CapInh CapPrm CapEff CapBnd CapAmb; do
	assert_eq "$(status_of $set)" 0000000000000000 "$set"
done
assert_eq "$(status_of NoNewPrivs) $(status_of Seccomp)" "1 2" "no_new_privs and seccomp"
assert_match "$(status_of Uid)" "^1[0-9]{9}[[:space:]]" "user"
assert_eq "$(stat -c %u "/proc/$relay/fd")" 0 "owner of its folder of descriptors, for it is not dumpable"
assert_eq "$(readlink "/proc/$relay/ns/net")" "$(readlink /proc/self/ns/net)" "network namespace"
# Opened in the sandbox's namespace of mounts, the device shows without the folder that it was found in.
ours=(-lname 'socket:*' -o -lname /dev/null -o -lname "$tmp/*")
assert_match "$(find "/proc/$relay/fd" -type l ! \( "${ours[@]}" \) -printf '%l ')" \
	'^(/dev)?/net/tun $' "descriptors that are no sockets"
assert_match "$path" '/menace/[0-9a-z]{26}\.relay$' "group"
assert_eq "$(value memory.max memory.limit_in_bytes)" 268435456 "memory"
assert_match "$(value cpu.max cpu.cfs_quota_us)" '^100000( 100000)?$' "processor"
ip -o link | diff "$tmp/links" - || fail "links of the host"
exec {in}>&-
wait "$supervisor"
assert_eq "$?" 0 "exit status"
assert_eq "$(shaping measured.relay.control_group)" "$path" "receipt"
assert_eq "$(relay_groups)" "" "groups afterwards"

begin
kill -KILL "$relay"
wait "$supervisor"
assert_eq $? 125 "status when the relay was killed"
exec {in}>&-
assert_reason setup_error
assert_eq "$(json .error.message)" \
	'menace-netd, which delays the packets of the network link, was killed by signal 9 (SIGKILL)'
assert_match "$(shaping measured.why)" 'menace-tun is no longer there|rtnetlink|relay' "why nothing was counted"
assert_eq "$(shaping measured.relay)" null
gone "$relay" || fail "the relay lives"

# Stopped at the end it tells nothing: what the kernel told of the link is told all the same.
begin --set net.rate=10mbit
kill -STOP "$relay"
exec {in}>&-
wait "$supervisor"
assert_eq $? 0 "status when the relay was stopped"
assert_eq "$(shaping measured.why)" 'the relay told nothing: menace-netd did not come to its end'
assert_eq "$(shaping 'measured | "\(.relay) \(.dropped_by_limit) \(.queue.drops)"')" "null null 0" "counts"

begin
kill -KILL "$supervisor"
wait "$supervisor" 2>/dev/null
exec {in}>&-
wait_until 10 gone "$relay" || fail "the relay outlives menace-run"
run -- true # the next start sweeps what a killed one left
assert_eq "$(relay_groups)" "" "groups after the next start"

# Frozen it does not even see that its supervisor is gone.
is_frozen()
{
	grep -q '^frozen 1' "$group/cgroup.events"
}
begin
for group in $(relay_groups); do
	[ ! -e "$group/cgroup.freeze" ] || break
done
echo 1 >"$group/cgroup.freeze"
wait_until 20 is_frozen || fail "the relay cannot be frozen"
kill -KILL "$supervisor"
wait "$supervisor" 2>/dev/null
exec {in}>&-
run -- true
assert_status 0
wait_until 20 gone "$relay" || fail "a frozen relay outlives its run"
assert_eq "$(relay_groups)" "" "groups after the next start"
ip -o link | diff "$tmp/links" - || fail "links are left"

# Without the program a delay is refused before anything runs.
mkdir "$tmp/bin"
cp "$MENACE_RUN" "$tmp/bin/menace-run"
MENACE_RUN=$tmp/bin/menace-run
run --backend native --net loopback --set net.latency_ms=5 --set net.engine=tun -- true
assert_status 125
assert_contains "$(json .error.message)" 'engine tun: menace-netd is neither in'

# One that ends before it is ready ends the run with what became of it.
printf '#!/bin/sh\nexit 127\n' >"$tmp/bin/menace-netd"
chmod 755 "$tmp/bin/menace-netd"
run_plain timeout -k 1 "$(scaled 20)" "$MENACE_RUN" -o "$result" --backend native --net loopback \
	--set net.latency_ms=5 --set net.engine=tun -- true
assert_status 125
assert_reason setup_error
assert_contains "$(json .error.message)" \
	'engine tun: menace-netd, which delays the packets of the network link, ended with status 127'
