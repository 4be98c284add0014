#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# CVE-2024-29021: the network is on by default, and a service of the host that trusts
# its own addresses answers
# security

. "${0%/*}/../../lib/system.sh"

need_program perl
need_system_program bash perl
cat >"$tmp/listen.pl" <<'PERL'
use IO::Socket::INET;
my $s = IO::Socket::INET->new(Listen => 8, LocalAddr => $ARGV[0], LocalPort => 0) or die "listen: $!\n";
$| = 1;
print $s->sockport, "\n";
while (my $c = $s->accept) { print $c "internal\n"; print "met\n"; close $c }
PERL
perl "$tmp/listen.pl" 127.0.0.1 >"$tmp/port" 2>&1 &
at_exit kill $!
wait_until 20 test -s "$tmp/port" || fail "no listener"
port=$(head -n 1 "$tmp/port")
connect="exec 3<>/dev/tcp/127.0.0.1/$port && head -n 1 <&3"
run_plain bash -c "$connect"
assert_eq "$stdout" internal "control: connection from outside"

for options in "" --userns "--level 2" "--net loopback" "--net none"; do
	# shellcheck disable=SC2086 # words
	run $options -- bash -c "$connect"
	assert_ne "$status" 0 "status with '$options'"
	assert_eq "$stdout" "" "answer with '$options'"
	assert_eq "$(json .receipt.network.routes)" 0 "routes with '$options'"
done
assert_eq "$(grep -c met "$tmp/port")" 1 "connections that the listener saw"

# Every way to say where, and the addresses that clouds and routers answer on.
own=$(hostname -I 2>/dev/null | tr ' ' '\n' | grep -m 1 '^[0-9.]*$')
for address in 127.0.0.1 127.1.2.3 0.0.0.0 169.254.169.254 10.0.0.1 192.168.0.1 172.17.0.1 \
	::1 ::ffff:127.0.0.1 fd00:ec2::254 fe80::1 8.8.8.8 ${own:+"$own"}; do
	run -- bash -c "exec 3<>/dev/tcp/$address/$port"
	assert_ne "$status" 0 "status of $address"
	assert_contains "$stderr" "Network is unreachable" "answer of $address"
	assert_ge "$(json '[.denials.rows[] | select(.layer == "network" and .what == "connect")] | length')" \
		1 "denials of $address"
done
run -- perl -e 'use Socket; socket(S, PF_INET, SOCK_DGRAM, 0); for my $a ("127.0.0.1", "8.8.8.8") {
	print defined send(S, "x", 0, pack_sockaddr_in(53, inet_aton($a))) ? "sent" : $!, "\n" }
	print join(",", map { /^\s*(\w+):/ ? $1 : () } `cat /proc/net/dev`), "\n"; print `cat /proc/net/route`'
assert_match "$stdout" $'^Network is unreachable\nNetwork is unreachable\n' "datagrams"
assert_eq "$(grep -c '^[a-z]' <<<"$(tail -n +4 <<<"$stdout")")" 0 "routes inside"
# The tree's resolver knows no server.
run -- sh -c 'grep -c nameserver /etc/resolv.conf; getent hosts example.com'
assert_eq "$stdout" 0 "name servers and answers"
