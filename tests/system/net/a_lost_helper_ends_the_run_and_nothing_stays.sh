#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# --net allowlist: when menace-netd dies the run ends, when menace-run dies menace-netd ends, and the host
# is as it was, before, during and after: its network is the namespace of this test alone
# security

. "${0%/*}/../../lib/outside.sh"
. "${0%/*}/../../lib/system.sh"
start_outside

host_state()
{
	ip -d addr
	ip route show table all
	ip -6 route show table all
	ip rule
	ip -6 rule
	tc qdisc 2>/dev/null
	cat /proc/net/ip_tables_names /proc/net/ip6_tables_names 2>/dev/null
	grep -rs . /proc/sys/net/ipv4/ip_forward /proc/sys/net/ipv4/conf /proc/sys/net/ipv6/conf
	nft list ruleset 2>/dev/null
}

# Sockets bound or listening, the helper's own to the outside among them.
sockets()
{
	awk 'FNR > 1 { print FILENAME, $2, $3, $4 }' /proc/net/tcp /proc/net/tcp6 | sort
}

start_run()
{
	rm -f "$tmp/up"
	mkdir -p "$tmp/shared"
	chmod 777 "$tmp/shared"
	rm -f "$tmp/shared/up"
	"$MENACE_RUN" -q -o "$result" --net allowlist --allow good.example -s net.resolver=203.0.113.53 \
		-t "$(scaled 60)" --rw "$tmp/shared:/shared" -- python3 -c '
import socket
s = socket.create_connection(("good.example", 25))
s.recv(100)
open("/shared/up", "w").close()
s.recv(100)
import time
time.sleep(1000)' 2>"$tmp/stderr" &
	run_pid=$!
	wait_until 20 test -e "$tmp/shared/up" || fail "it did not start: $(cat "$tmp/stderr")"
	netd_pid=$(pgrep -P "$run_pid" -x menace-netd) || fail "no menace-netd below $run_pid"
}

gone()
{
	[ ! -d "/proc/$1" ] || grep -q '^State:.*Z' "/proc/$1/status" 2>/dev/null
}

host_state >"$tmp/before"
sockets >"$tmp/sockets.before"
start_run
host_state >"$tmp/during"
cmp -s "$tmp/before" "$tmp/during" || fail "changed during the run: $(diff "$tmp/before" "$tmp/during")"

# Confined, and in the host's network namespace, not the sandbox's.
status_of() { sed -n "s/^$1:[[:space:]]*//p" "/proc/$netd_pid/status"; }
for set in CapInh CapPrm CapEff CapBnd CapAmb; do
	assert_eq "$(status_of $set)" 0000000000000000 "$set of menace-netd"
done
assert_eq "$(status_of NoNewPrivs) $(status_of Seccomp)" "1 2" "no_new_privs and seccomp of menace-netd"
assert_match "$(status_of Uid)" "^1[0-9]{9}[[:space:]]" "user of menace-netd"
assert_eq "$(readlink "/proc/$netd_pid/ns/net")" "$(readlink /proc/self/ns/net)" "its network namespace"
ours=(-lname 'socket:*' -o -lname 'pipe:*' -o -lname 'anon_inode:*' -o -lname /dev/null -o -lname "$tmp/*")
assert_eq "$(find "/proc/$netd_pid/fd" -type l ! \( "${ours[@]}" \) -printf '%l ')" "" "its descriptors that are no socket, pipe or timer"
assert_match "$(tr '\0' '.' <"/proc/$netd_pid/environ" 2>/dev/null)" '^$' "its environment"

kill -KILL "$netd_pid"
wait "$run_pid"
assert_eq $? 125 "status when menace-netd was killed"
assert_reason setup_error
assert_eq "$(json .error.message)" 'menace-netd, which answers for the network, was killed by signal 9 (SIGKILL)'
gone "$netd_pid" || fail "menace-netd lives"

# The deadline of a run is its own, and takes menace-netd with it.
run -q --net allowlist --allow 203.0.113.12 -t 0.2 -- sleep 100
assert_reason wall_timeout

start_run
# The sandbox's init is the run's other child.
init_pid=$(pgrep -P "$run_pid" | grep -vx "$netd_pid")
payload_pid=$(pgrep -P "$init_pid" -x python3) || fail "no payload below $init_pid"
kill -KILL "$run_pid"
wait "$run_pid" 2>/dev/null
wait_until 10 gone "$netd_pid" || fail "menace-netd outlives menace-run"
wait_until 10 gone "$payload_pid" || fail "the payload outlives menace-run"
run -q -- true # sweeps what was left

host_state >"$tmp/after"
cmp -s "$tmp/before" "$tmp/after" || fail "changed after it: $(diff "$tmp/before" "$tmp/after")"
only_time_wait() { sockets | comm -13 "$tmp/sockets.before" - | awk '$4 != "06"' | grep -q . && return 1; return 0; }
wait_until 10 only_time_wait || fail "sockets stay: $(sockets | comm -13 "$tmp/sockets.before" -)"

# Without the program the mode is refused before anything runs.
mkdir "$tmp/bin"
cp "$MENACE_RUN" "$tmp/bin/menace-run"
MENACE_RUN=$tmp/bin/menace-run
run --net allowlist -- true
assert_status 125
assert_contains "$(json .error.message)" 'network allowlist: menace-netd is neither in'
