#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Links, addresses, routes, rules, queues, firewall, switches and listening sockets of the
# host are the same before, during and after a run with mocks, also one that was killed
# security

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/mocks.sh"
. "$repo/tests/lib/limits.sh"
. "$repo/tests/lib/link.sh"

with_own_network
need_program ip tc
check_leaks

host_now()
{
	ip -o link | sed 's/ qlen .*//'
	ip -o addr
	ip route show table all
	ip -6 route show table all
	ip rule
	tc qdisc
	! command -v nft >/dev/null || nft list ruleset 2>/dev/null
	cat /proc/sys/net/ipv4/ip_forward /proc/sys/net/ipv6/conf/all/forwarding
	awk '$4 == "0A" { print $2 }' /proc/net/tcp /proc/net/tcp6
	awk '{ print $2 }' /proc/net/udp /proc/net/udp6
	iptables-save 2>/dev/null | grep -v '^#'
	ls /sys/class/net
}

mkdir "$tmp/out"
chmod 777 "$tmp/out"
host_now >"$tmp/before"
"$MENACE_RUN" -q -t 100 --net stub --mock 'a.example=body:x' --mock '93.184.216.34=body:y' --rw "$tmp/out:/out" -- \
	sh -c 'touch /out/started; sleep 1000' &
supervisor=$!
wait_until 30 test -e "$tmp/out/started" || fail "the payload does not start"
host_now | diff "$tmp/before" - || fail "the host differs during a run"
kill -KILL "$supervisor"
wait "$supervisor" 2>/dev/null
"$MENACE_RUN" -q -- true
host_now | diff "$tmp/before" - || fail "the host differs after a run that was killed"
stub --mock 'a.example=body:x' -- true
assert_status 0
host_now | diff "$tmp/before" - || fail "the host differs after a run"
