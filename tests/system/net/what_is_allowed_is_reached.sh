#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# --net allowlist: names, wildcards, networks and ports that are allowed are reached, by any program and
# with its own checks on, and the result tells what went where
# kernel
# security

. "${0%/*}/../../lib/outside.sh"
. "${0%/*}/../../lib/system.sh"
need_system_program curl
start_outside

# TLS with verification, by two libraries; a server that speaks first; IPv6; half-closed streams.
cat >"$tmp/go.py" <<'PY'
import socket, ssl, struct, subprocess, sys

blocks = int(sys.argv[1])

def get(host, port=80):
    with socket.create_connection((host, port)) as s:
        s.sendall(b"GET / HTTP/1.1\r\nHost: good.example\r\n\r\n")
        return s.makefile("rb").read().split(b"\r\n\r\n")[1].decode()

print("name", get("GOOD.example."))
print("network", get("203.0.113.16", 8080))
print("ipv6", get("2001:db8::10"))
c = ssl.create_default_context(cafile="/cert.pem")
with c.wrap_socket(socket.create_connection(("good.example", 443)), server_hostname="good.example") as t:
    print("tls", t.recv(100).decode().strip())
with socket.create_connection(("good.example", 25)) as s:
    print("first", s.recv(100).decode().strip())
    s.sendall(b"echo")
    print("then", s.recv(100).decode())
with socket.create_connection(("203.0.113.12", 7000)) as s:
    s.sendall(b"x" * 3000001)
    s.shutdown(socket.SHUT_WR)
    print("sent", s.recv(100).decode().strip())
with socket.create_connection(("203.0.113.12", 7001)) as s:
    s.sendall(b"3000001\n")
    n = 0
    while d := s.recv(65536):
        n += len(d)
    print("received", n)
# Requests one after the other, and a body of any length.
with socket.create_connection(("good.example", 7000)) as s:
    one = b"GET / HTTP/1.1\r\nHost: good.example\r\n\r\n"
    post = b"POST / HTTP/1.1\r\nHost: good.example:7000\r\n"
    s.sendall(one + one + post + b"Content-Length: %d\r\n\r\n" % (blocks * 100000))
    for _ in range(blocks):
        s.sendall(b"x" * 100000)
    s.sendall(post + b"Transfer-Encoding: chunked\r\n\r\n2\r\nxx\r\n0\r\n\r\n" + one)
    s.shutdown(socket.SHUT_WR)
    print("requests", int(s.recv(100)) - 3 * len(one) - 2 * len(post))
print("wildcard", socket.gethostbyname("x.y.wild.example"))
for family in "ahostsv4", "ahostsv6": # they say AI_ADDRCONFIG
    print(family, subprocess.run(["getent", family, "good.example"], text=True,
          capture_output=True).stdout.split()[:1])
print("alias", socket.gethostbyname("alias.example"))
# Two queries at once on one stream, as glibc writes them with use-vc.
with socket.create_connection(("127.0.0.53", 53)) as s:
    q = struct.pack(">HHHHHH", 7, 0x100, 1, 0, 0, 0) + b"\4good\7example\0\0%c\0\1"
    s.sendall(b"".join(struct.pack(">H", len(q) - 1) + q % kind for kind in (1, 28)))
    f = s.makefile("rb")
    print("stream", *(f.read(*struct.unpack(">H", f.read(2)))[-4:].hex() for _ in range(2)))
print("use-vc", "203.0.113.10" in subprocess.run(["getent", "ahosts", "good.example"], text=True,
      env={"PATH": "/usr/bin:/bin", "RES_OPTIONS": "use-vc"}, capture_output=True).stdout.split())
with socket.create_server(("127.0.0.1", 8000)), socket.create_connection(("127.0.0.1", 8000)):
    print("own loopback")
PY
blocks=$((MENACE_SLOWDOWN > 1 ? 70 : 700)) body=$((blocks * 100000))
allowed 'good.example,alias.example,*.wild.example,203.0.113.16/30:8080,203.0.113.12' \
	--ro "$tmp/go.py:/go.py" --ro "$tmp/cert.pem:/cert.pem" -- python3 /go.py "$blocks"
assert_status 0
assert_eq "$stdout" "name host good.example
network host good.example
ipv6 host good.example
tls tls good.example
first 220 hello
then echo
sent 3000001
received 3000001
requests $((body + 62 + ${#body}))
wildcard 203.0.113.12
ahostsv4 ['203.0.113.10']
ahostsv6 ['2001:db8::10']
alias 203.0.113.10
stream cb00710a 00000010
use-vc True
own loopback"
assert_eq "$(json '.denials.total')" 0 "denials"
assert_eq "$(json '.network.allowlist | .rules | join(" ")')" \
	'good.example alias.example *.wild.example 203.0.113.16/30:8080 203.0.113.12' rules
assert_eq "$(json '.network.allowlist.servers[0]')" 203.0.113.53 "the server of names"
assert_eq "$(json '.network.allowlist.names[] | select(.name == "good.example") | .addresses | sort | join(" ")')" \
	'2001:db8::10 203.0.113.10' "addresses of the name"
peer() { json ".network.allowlist.peers[] | select(.address == \"$1\" and .port == $2) | \"$3\""; }
# shellcheck disable=SC2016 # jq's own
assert_eq "$(peer 203.0.113.10 443 '\(.name) \(.connections) \(.failed) \(.checked)')" 'good.example 1 0 tls-sni' 'TLS'
# shellcheck disable=SC2016
assert_eq "$(peer 203.0.113.10 7000 '\(.name) \(.checked)')" 'good.example http-host' 'requests'
# shellcheck disable=SC2016
assert_eq "$(peer 203.0.113.10 25 '\(.name) \(.checked)')" 'null nothing' 'who speaks first'
assert_eq "$(peer 203.0.113.12 7000 '\(.name) \(.checked) \(.out_bytes) \(.in_bytes)')" 'null address 3000001 8' 'bytes out'
assert_eq "$(peer 203.0.113.12 7001 '\(.out_bytes) \(.in_bytes)')" '8 3000001' 'bytes in'
assert_eq "$(json '.network.allowlist.totals.connections')" 8 "connections"
assert_ge "$(json '.network.allowlist.totals.out_bytes')" 3000001 "bytes out in all"

# The receipt: read back from the kernel.
assert_eq "$(json '.receipt.network | "\(.state) \(.mode) \(.links) \(.routes)"')" 'enforced allowlist lo 0'
assert_eq "$(json '.receipt.network.answered_by | "\(.program) \(.verified) \(.local_prefixes)"')" 'menace-netd true 2'
assert_ge "$(json '.receipt.network.answered_by.sk_lookup_program')" 1 'id of the program'
assert_eq "$(json '.receipt.network.allowlist.connect_hook')" true 'hook'

# curl by its own resolver code and TLS library.
allowed good.example --ro "$tmp/cert.pem:/cert.pem" -- \
	sh -c 'curl -sS http://good.example/ && echo && curl -sS --http0.9 --cacert /cert.pem https://good.example/'
assert_eq "$stdout" 'host good.example
tls good.example' curl

# A peer that is not there is a failure of the peer's.
allowed 203.0.113.12:9 -- bash -c 'exec 3<>/dev/tcp/203.0.113.12/9 && cat <&3; echo ended'
assert_eq "$(peer 203.0.113.12 9 '\(.failed) \(.errno_name)')" '1 ECONNREFUSED' 'a peer that refuses'

# In a user namespace and without a control group, where connects are not judged by the kernel.
for options in --userns '--best-effort cgroup' '--level 2' '--level 4'; do
	# shellcheck disable=SC2086 # words
	allowed good.example $options -- \
		python3 -c 'import socket; s = socket.create_connection(("good.example", 25)); print(s.recv(9))'
	assert_eq "$stdout" "b'220 hello'" "$options"
done
