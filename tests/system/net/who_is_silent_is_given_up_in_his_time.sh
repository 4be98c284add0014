#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# --net allowlist: who has to show a name and says nothing, or only a part of it, is refused after ten
# seconds, not before; and a server of names that does not answer is given up
# lane: soak (waits for CHECK_NS of netns/gate_relay.c and TRY_NS of netns/gate_dns.c; that silence is refused, every_way_out has)
# security

. "${0%/*}/../../lib/outside.sh"
. "${0%/*}/../../lib/system.sh"
start_outside

cat >"$tmp/silent.py" <<'PY'
import socket, time

address = socket.gethostbyname("good.example")
began = time.monotonic()
ones = [socket.create_connection((address, 443)) for _ in range(2)]
ones[1].sendall(b"\x16\x03\x01")
for s in ones:
    try:
        print("answered", s.recv(10))
    except ConnectionResetError:
        print("reset")
print("patient", time.monotonic() - began >= 9)
PY
allowed good.example --ro "$tmp/silent.py:/silent.py" -- python3 /silent.py
assert_status 0
assert_eq "$stdout" 'reset
reset
patient True'
# Whoever was looked for too late has a row of his own.
assert_eq "$(json '.denials.rows[] | "\(.what) \(.object) \(.rule)"' | uniq)" 'connect 203.0.113.10:443 limit'
assert_eq "$(json '[.denials.rows[].count] | add')" 2 'denials'
assert_eq "$(grep -c ^tls "$outside_log")" 0 'handshakes that came through'

# 64 are asked outside, the others get an error at once: in the end all have one.
cat >"$tmp/flood.py" <<'PY'
import socket, struct

q = struct.pack(">HHHHHH", 1, 0x100, 1, 0, 0, 0) + b"\4good\7example\0\0\1\0\1"
ones = []
for _ in range(80):
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    s.connect(("127.0.0.53", 53))
    s.send(q)
    s.settimeout(60)
    ones.append(s)
print(*sorted(s.recv(512)[3] & 15 for s in ones))
PY
run --net allowlist --allow good.example -s net.resolver=203.0.113.1:7002 -t "$(scaled 60)" --ro "$tmp/flood.py:/flood.py" -- \
	python3 /flood.py
assert_eq "$stdout" "$(printf '2 %.0s' {1..79})2" "codes of the answers"
assert_eq "$(json '.network.allowlist.denied.queries_full')" 16 "queries too many"
assert_eq "$(json '.network.allowlist.totals | "\(.queries) \(.resolved)"')" "80 0"
