#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Without a network the ways out of an allow-list lead nowhere, either, and each leaves a denial
# kernel gate
# security

. "${0%/*}/../../lib/system.sh"

need_system_program python3

run -t "$(scaled 120)" --ro "$repo/tests/lib/net-attacks.py:/attacks.py" -- python3 /attacks.py
assert_status 0
[ "$(grep -c . <<<"$stdout")" -ge 60 ] || fail "only $(grep -c . <<<"$stdout") attacks"
assert_eq "$(grep -v ' held ' <<<"$stdout")" "" "what was not held"

rows=$(json '.denials.rows[] | "\(.layer) \(.what) \(.object) \(.rule)"')
while read -r name layer what object; do
	[ "$layer" = seccomp ] || object+=" net.mode=none"
	grep -qxF "$layer $what $object" <<<"$rows" || fail "$name left no denial '$layer $what $object': $rows"
done <<'ROWS'
direct          network connect 203.0.113.11:80
direct-tls      network connect 203.0.113.11:443
direct-ipv6     network connect [2001:db8::11]:80
mapped-ipv6     network connect [::ffff:203.0.113.13]:80
nat64           network connect [64:ff9b::cb00:710a]:80
6to4            network connect [2002:cb00:710a::1]:80
metadata        network connect 169.254.169.254:80
private         network connect 10.0.0.1:22
private-ipv6    network connect [fd00::1]:22
link-local      network connect 169.254.1.1:80
own-host        network connect 203.0.113.254:22
broadcast       network connect 255.255.255.255:80
fastopen        network sendto 203.0.113.17:80
bindtodevice    network connect 203.0.113.16:80
toctou          network connect 203.0.113.15:80
udp             network sendto 203.0.113.18:7002
udp-sendmsg     network sendto 203.0.113.19:7002
sendmsg-ipv6    network sendto [2001:db8::12]:7002
sendmsg-mapped  network sendto 203.0.113.21:53
sendmsg-thread  network sendto 203.0.113.22:7002
sendmsg-child   network sendto 203.0.113.23:7002
no-family       network sendto 203.0.113.24:7002
sendmsg-tcp     network connect 203.0.113.25:80
sendmmsg        network sendto 203.0.113.26:7002
sendmmsg-ipv6   network sendto [2001:db8::13]:7002
udp-connected   network connect 203.0.113.12:443
udp-ipv6        network sendto [2001:db8::10]:7002
resolver        network sendto 203.0.113.53:53
resolver-tcp    network connect 203.0.113.53:53
resolver-mapped network sendto [::ffff:203.0.113.20]:53
dns-name        network connect 127.0.0.53:53
sni             network connect 127.0.0.1:53
ping            network socket ICMP
ping-ipv6       network socket ICMPv6
raw             seccomp socket null net
io-uring        seccomp io_uring_setup null io_uring
bpf             seccomp bpf null bpf
unshare         seccomp unshare null namespace
ptrace          seccomp ptrace null ptrace
pidfd-getfd     seccomp pidfd_getfd null ptrace
namespaces      seccomp setns null namespace
ROWS
# Raw and packet sockets, netlink, vsock and alg are one row: its count tells how often.
assert_ge "$(json '[.denials.rows[] | select(.what == "socket") | .count] | add')" 5 "sockets refused"
# There is no way that leaves none.
assert_eq "$(json '[.denials.unseen[] | select(.layer == "network") | .what + ": " + .why] | join(", ")')" ""
