#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# A client that sends a byte now and then, one that never reads, hundreds that hold
# connections open, and requests made to confuse: all others are answered meanwhile
# sanitizers

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/mocks.sh"

need_system_program python3

head -c 4000000 /dev/zero >"$tmp/large"
stub --mock "api.example=@$tmp/large" --mock 'https://s.example/*=body:ok' --mock 'http://s.example/=body:ok' \
	--nofile 1024 -- python3 -c '
import socket, ssl, time, urllib.request

def answered():
    assert urllib.request.urlopen("http://s.example/").read() == b"ok"
    assert urllib.request.urlopen("https://s.example/x").read() == b"ok"
    return True

def connect(host="api.example", port=80):
    return socket.create_connection((host, port))

slow, deaf, tls = connect(), connect(), connect("s.example", 443)
for i in range(200):
    deaf.sendall(b"GET / HTTP/1.1\r\nHost: api.example\r\n\r\n")
request = b"GET / HTTP/1.1\r\nHost: s.example\r\n"
for i in range(10):  # the head of a request has half a minute
    slow.sendall(request[i:i + 1])
    tls.sendall(b"\x16\x03\x01\x02\x00\x01"[i:i + 1])
    answered()
print("slow: held nobody up")

held = []
for i in range(300):
    try:
        held.append(connect("s.example"))
        held[-1].setblocking(False)
    except ConnectionResetError:
        pass

def is_open(s):
    try:
        return s.recv(1) != b""
    except BlockingIOError:
        return True
    except ConnectionResetError:
        return False

def within_a_minute(test):
    end = time.monotonic() + 60
    while not test() and time.monotonic() < end:
        time.sleep(0.05)
    return test()

print("held:", within_a_minute(lambda: 240 <= sum(map(is_open, held)) <= 256))
for s in held:
    s.close()

def is_answered():
    try:
        return answered()
    except OSError:
        return False
print("again:", within_a_minute(is_answered))

def say(text):
    s = connect("s.example")
    s.sendall(text)
    s.shutdown(socket.SHUT_WR)
    got = b""
    while True:
        part = s.recv(65536)
        if not part:
            return got
        got += part

smuggled = b"GET /hidden HTTP/1.1\r\nHost: s.example\r\n\r\n"
for head in (b"Content-Length: 4\r\nTransfer-Encoding: chunked\r\n", b"Transfer-Encoding: chunked\r\nContent-Length: 4\r\n",
             b"Content-Length: 4\r\nContent-Length: 0\r\n", b"Transfer-Encoding: chunked\r\nTransfer-Encoding: x\r\n",
             b"Transfer-Encoding : chunked\r\n", b"Content-Length: 4\n", b"X: y\r\n Content-Length: 4\r\n"):
    got = say(b"POST / HTTP/1.1\r\nHost: s.example\r\n" + head + b"\r\n0\r\n\r\n" + smuggled)
    print(got[9:12].decode(), got.count(b"HTTP/1.1 "))
print(say(b"\x00" * 100)[9:12].decode(), say(b"G" * 20000)[9:12].decode())
'
assert_status 0
assert_eq "$stdout" "slow: held nobody up
held: True
again: True
400 1
400 1
400 1
400 1
400 1
400 1
400 1
400 431"
assert_not_contains "$(denials)" hidden
assert_contains "$(denials)" "connect s.example:80 (198.18.0.2:80) [connections]"
