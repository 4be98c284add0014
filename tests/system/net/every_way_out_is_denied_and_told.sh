#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# --net allowlist: of every way out that is known none works, and each leaves a denial
# kernel
# security

. "${0%/*}/../../lib/outside.sh"
. "${0%/*}/../../lib/system.sh"
start_outside

# Somebody of the host listens on an abstract name meanwhile.
python3 -c 'import socket, sys
s = socket.socket(socket.AF_UNIX)
s.bind("\0menace-test-outside")
s.listen()
print(flush=True)
__import__("signal").pause()' >"$tmp/abstract" 2>&1 &
at_exit kill $!
wait_until 10 test -s "$tmp/abstract" || fail "nobody listens: $(cat "$tmp/abstract")"

rules='good.example,other.example,*.wild.example,203.0.113.12:80,203.0.113.12:443'
rules+=,loop.example,metadata.example,private.example,mapped.example,host.example,203.0.113.0/24:22
allowed "$rules" -t "$(scaled 120)" --ro "$repo/tests/lib/net-attacks.py:/attacks.py" -- python3 /attacks.py
assert_status 0
echo "$stdout"
[ "$(grep -c . <<<"$stdout")" -ge 60 ] || fail "only $(grep -c . <<<"$stdout") attacks"
! grep escaped <<<"$stdout" || fail "escaped"
assert_eq "$(grep -vc ' held ' <<<"$stdout")" 0 "lines that say neither"

# What came through is what the rules allow.
assert_eq "$(grep -vE '^(dns (good|other|loop|metadata|private|mapped|host)\.example (1|28)|dns n[0-9]+\.wild\.example (1|28)|error .*|greet|http 80 (raced|good).example /)$' "$outside_log")" "" "outside"
# One that is answered late is asked again.
assert_eq "$(grep '^dns n[0-9]*\.wild' "$outside_log" | sort -u | wc -l)" 128 "names below a wildcard that were asked"

# One row each: what, object, rule.  The object is a pattern.
rows=$(json '.denials.rows[] | "\(.layer) \(.what) \(.object) \(.rule)"')
while read -r name pattern; do
	grep -qE "^$pattern\$" <<<"$rows" || fail "$name left no denial like '$pattern': $rows"
done <<'ROWS'
direct          network connect 203.0.113.11:80 net.allow
direct-tls      network connect 203.0.113.11:443 net.allow
direct-ipv6     network connect \[2001:db8::11\]:80 net.allow
mapped-ipv6     network connect 203.0.113.13:80 net.allow
nat64           network connect \[64:ff9b::cb00:710a\]:80 net.allow
6to4            network connect \[2002:cb00:710a::1\]:80 net.allow
metadata        network connect 169.254.169.254:80 special-address
private         network connect 10.0.0.1:22 special-address
private-ipv6    network connect \[fd00::1\]:22 special-address
link-local      network connect 169.254.1.1:80 special-address
own-host        network connect 203.0.113.254:22 special-address
broadcast       network connect 255.255.255.255:80 special-address
other-port      network connect 203.0.113.12:8080 net.allow
unasked         network connect 203.0.113.14:80 net.allow
fastopen        network connect 203.0.113.17:80 net.allow
bindtodevice    network connect 203.0.113.16:80 net.allow
toctou          network connect 203.0.113.15:80 net.allow
udp             network sendto 203.0.113.18:7002 udp
udp-allowed     network sendto 203.0.113.12:7002 udp
udp-sendmsg     network sendto 203.0.113.19:7002 udp
sendmsg-ipv6    network sendto \[2001:db8::12\]:7002 udp
sendmsg-mapped  network sendto 203.0.113.21:53 other-resolver
sendmsg-thread  network sendto 203.0.113.22:7002 udp
sendmsg-child   network sendto 203.0.113.23:7002 udp
no-family       network sendto 203.0.113.24:7002 udp
sendmsg-tcp     network connect 203.0.113.25:80 net.allow
sendmmsg        network sendto 203.0.113.26:7002 udp
sendmmsg-ipv6   network sendto \[2001:db8::13\]:7002 udp
udp-connected   network sendto 203.0.113.12:443 udp
udp-ipv6        network sendto \[2001:db8::10\]:7002 udp
resolver        network sendto 203.0.113.53:53 other-resolver
resolver-tcp    network connect 203.0.113.53:53 net.allow
resolver-mapped network sendto 203.0.113.20:53 other-resolver
dns-name        network resolve secret-0123456789.evil.example net.allow
dns-tcp         network resolve tcp-0123456789.evil.example net.allow
dns-txt         network resolve good.example \(type 16\) dns-type
dns-null        network resolve good.example \(type 10\) dns-type
dns-any         network resolve other.example \(type 255\) dns-type
dns-axfr        network resolve other.example \(type 252\) dns-type
dns-two         network resolve 127.0.0.53:53 dns-malformed
dns-long        network resolve a{41}.wild.example dns-tunnel
dns-deep        network resolve (abcdefgh.){8}wild.example dns-tunnel
dns-many        network resolve n[0-9]+.wild.example dns-tunnel
rebind-loopback network resolve loop.example \(127.0.0.1\) special-address
rebind-metadata network resolve metadata.example \(169.254.169.254\) special-address
rebind-private  network resolve private.example \(10.1.2.3\) special-address
rebind-mapped   network resolve mapped.example \(127.0.0.1\) special-address
rebind-host     network resolve host.example \(203.0.113.254\) special-address
sni             network tls evil.example \(203.0.113.10:443\) tls-sni
sni-other-rule  network tls other.example \(203.0.113.10:443\) tls-sni
sni-none        network tls 203.0.113.10:443 tls-sni
sni-split       network tls split.example \(203.0.113.10:443\) tls-sni
ech             network tls good.example \(203.0.113.10:443\) tls-ech
host            network http evil.example \(203.0.113.10:80\) http-host
host-target     network http 203.0.113.10:80 http-host
host-next       network http next.example \(203.0.113.10:80\) http-host
upgrade         network http 203.0.113.10:7000 http-host
host-half       network connect 203.0.113.10:80 limit
sni-local       network tls localhost \(203.0.113.10:443\) tls-sni
connect-same    network http good.example \(203.0.113.10:80\) http-connect
connect         network http tunnel.example \(203.0.113.10:80\) http-connect
ping            network socket ICMP net.mode=allowlist
ping-ipv6       network socket ICMPv6 net.mode=allowlist
raw             seccomp socket null net
packet          seccomp socket null net
io-uring        seccomp io_uring_setup null .*
bpf             seccomp bpf null .*
unshare         seccomp unshare null .*
ptrace          seccomp ptrace null .*
pidfd-getfd     seccomp pidfd_getfd null .*
ROWS
assert_eq "$(json '[.denials.rows[] | select(.layer == "network" and .pid != null and .comm != "python3") | .object] | tostring')" '[]' \
	"rows of another process"
# Whoever is denied waits two seconds to be looked at, and not for a supervisor that is kept waiting for longer.
unknown='.denials.rows[] | select(.layer == "network" and .pid == null)'
assert_le "$(json "[$unknown | select(.reason | test(\"its socket was closed\") | not)] | length")" \
	"$(json .network.allowlist.looks_left_out)" "rows without a process, for which there was no time to look"
assert_eq "$(json "[$unknown | .reason | test(\"its socket was closed|too much to look through|there was time to look at\")] | all")" \
	true "why it is not known who asked"
# A hint is a rule, and nothing of what the program sent that is none.
assert_eq "$(json '[.denials.rows[] | select(.rule == "tls-sni") | .allow] | unique | tostring')" \
	'[null,"--allow evil.example","--allow other.example","--allow split.example"]' "hints"
grep -q '^urgent held ECONNRESET$' <<<"$stdout" || fail "urgent data: $(grep urgent <<<"$stdout")"
# Each refusal is counted by its reason, those with equal rows, too.
for reason in tls_malformed http_malformed http_next silent; do
	assert_ge "$(json ".network.allowlist.denied.$reason")" 1 "$reason"
done
assert_eq "$(json .network.allowlist.totals.lost_messages)" 0 "lost messages"
