#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Neither rights nor clocks nor packets of another form get the program round a fault, and one that finds no
# room for what it would have to cut off ends the run

. "$(dirname "$0")/../../lib/outside.sh"
. "$(dirname "$0")/../../lib/system.sh"
need_system_program python3
start_outside

fault()
{
	json ".receipt.network.faults[$1]$2"
}

# Every way that a program has to take it away, to turn its clock, or to look like somebody else.
cat >"$tmp/attack.py" <<'PY'
import ctypes, ctypes.util, os, socket, struct, sys, time

libc = ctypes.CDLL(None, use_errno=True)
done = []

def attempt(name, call):
    try:
        done.append(name if call() else "")
    except OSError: pass

def netlink():
    s = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0)
    # RTM_DELQDISC of lo's clsact.
    s.send(struct.pack("=IHHIIBBHiIII", 36, 37, 5, 1, 0, 0, 0, 0, 1, 0xffff0000, 0xfffffff1, 0))
    return struct.unpack_from("=i", s.recv(100), 16)[0] == 0

attempt("clsact", netlink)
attempt("clock", lambda: libc.clock_settime(0, struct.pack("=qq", 1, 0)) == 0)
attempt("time namespace", lambda: libc.unshare(0x80) == 0)
attempt("network namespace", lambda: libc.unshare(0x40000000) == 0)
# bpf(BPF_MAP_GET_NEXT_ID), bpf(BPF_PROG_GET_NEXT_ID)
attempt("maps", lambda: libc.syscall(321, 12, bytes(120), 120) == 0)
attempt("programs", lambda: libc.syscall(321, 11, bytes(120), 120) == 0)
attempt("raw", lambda: socket.socket(socket.AF_INET, socket.SOCK_RAW, 6))
attempt("packet", lambda: socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0))
attempt("mark", lambda: socket.socket().setsockopt(socket.SOL_SOCKET, 36, 0x6d64726f) is None)
print("done:", *filter(None, done))

def talks(family, address, own=None, options=(), size=1):
    a = socket.socket(family, socket.SOCK_DGRAM)
    a.bind((address, 7000))
    b = socket.socket(family, socket.SOCK_DGRAM)
    if own: b.bind((own, 0))
    a.settimeout(0.05)
    try:
        for o in options: b.setsockopt(*o)
        b.sendto(b"x" * size, (address, 7000))
        return len(a.recv(65536)) == size
    except OSError: return False
    finally: a.close()

udp = socket.AF_INET, socket.AF_INET6
print("plain", talks(udp[0], "127.0.0.2"), talks(udp[1], "::1"))
print("fragments", talks(udp[0], "127.0.0.2", size=60000), talks(udp[1], "::1", size=60000))
# IPv4 options, and headers before UDP's in IPv6: hop-by-hop, destination.
print("options", talks(udp[0], "127.0.0.2", options=[(0, 4, b"\1\1\1\0")]))
print("headers", *(talks(udp[1], "::1", options=[(41, o, b"\0\0\1\4\0\0\0\0")]) for o in (54, 59)))
print("from elsewhere", talks(udp[0], "127.0.0.2", "127.9.9.9"))
# An IPv4 address through an IPv6 socket.
s = socket.socket(socket.AF_INET6)
s.settimeout(0.05)
a = socket.create_server(("127.0.0.2", 7001))
try: s.connect(("::ffff:127.0.0.2", 7001)); print("mapped")
except OSError as e: print("mapped", type(e).__name__)
# TCP Fast Open: data in the first packet; and urgent data.
s = socket.socket()
try: s.sendto(b"x", 0x20000000, ("127.0.0.3", 7002)); print("fast open")
except OSError as e: print("fast open", type(e).__name__)
print("others", talks(udp[0], "127.0.0.4"))
PY
run -t "$(scaled 60)" --net loopback --ro "$tmp/attack.py:/attack.py" --net-fault 'blackhole:127.0.0.2:7000,[::1]:7000@0..' \
	--net-fault 'blackhole:127.0.0.2:7001@0..' --net-fault 'refuse:127.0.0.3@0..' -- python3 /attack.py
assert_status 0
assert_eq "$stdout" "done:
plain False False
fragments False False
options False
headers False False
from elsewhere False
mapped TimeoutError
fast open ConnectionRefusedError
others True"
assert_eq "$(json '[.receipt.network.faults[].state] | join(" ")')" "taken taken taken"

# More to cut off than there is room for: what could not be is not reached.
hosts=$(printf '*.wild.example:%d,' {1..16})
many=()
for _ in {1..9}; do
	many+=(--net-fault "blackhole:${hosts%,}@1h..")
done
reach=(python3 -c 'import socket; print(socket.gethostbyname("x.wild.example"))')
allowed '*.wild.example' -q "${many[@]:2}" -- "${reach[@]}"
assert_eq "$status $stdout" "0 203.0.113.12" "128 rules"
allowed '*.wild.example' -q "${many[@]}" -- "${reach[@]}"
assert_ne "$stdout" 203.0.113.12 "144 rules"
assert_status 125
assert_contains "$(json .error.message)" "no room for another address; accepted: at most 128 of all faults together"
allowed '*.wild.example' -q --best-effort net "${many[@]}" -- "${reach[@]}"
assert_eq "$status $stdout" "0 203.0.113.12"
assert_contains "$(json .receipt.degraded[0].why)" "no room for another address"
