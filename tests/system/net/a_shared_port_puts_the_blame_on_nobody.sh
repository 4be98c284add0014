#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# --net allowlist: a datagram's socket is found by its address and port; who only has the same port at
# another address is not blamed, and where two sockets could have sent it nobody is
# security
# minutes 3

. "${0%/*}/../../lib/outside.sh"
. "${0%/*}/../../lib/system.sh"
start_outside

cat >"$tmp/ask.py" <<'PY'
import ctypes, os, socket, struct

def name_it(text):
    ctypes.CDLL(None).prctl(15, text.encode(), 0, 0, 0)

def query(text):
    name = b"".join(bytes([len(p)]) + p for p in (text, b"evil", b"com")) + b"\0"
    return struct.pack(">HHHHHH", 7, 0x100, 1, 0, 0, 0) + name + b"\0\1\0\1"

def udp(address, port=5000):
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    s.bind((address, port))
    s.settimeout(30)
    return s

# The other one is first in every list: it was first, and holds the port at another address.
told, tell = os.pipe()
more, go = os.pipe()
if os.fork() == 0:
    name_it("innocent")
    a = udp("127.0.0.2")
    os.write(tell, b"1")
    os.read(more, 1)
    b = udp("0.0.0.0")
    os.write(tell, b"2")
    os.read(more, 1)
    os._exit(0)
os.read(told, 1)
name_it("guilty")
s = udp("127.0.0.3")
s.sendto(query(b"one"), ("127.0.0.53", 53))
s.recv(512)
os.write(go, b"1")
os.read(told, 1)
s.sendto(query(b"two"), ("127.0.0.53", 53))
s.recv(512)
os.write(go, b"2")
os.wait()
PY
# 1: a process was not found for want of time, which a busy machine may not have: then it is asked once more.
asked()
{
	allowed good.example --ro "$tmp/ask.py:/ask.py" -- python3 /ask.py
	assert_status 0
	all_were_looked_for
}
wait_until 60 asked || fail "who asked was not looked for"
who='.denials.rows[] | select(.object | startswith("%s")) | "\(.comm) \(.pid == null) \(.reason | test("several sockets have its address and port"))"'
# shellcheck disable=SC2059 # the format is ours
assert_eq "$(json "$(printf "$who" one)")" 'guilty false false' 'who asked for one'
# shellcheck disable=SC2059
assert_eq "$(json "$(printf "$who" two)")" 'null true true' 'who asked for two'
