# SPDX-License-Identifier: Apache-2.0
"""What a delayed loopback is to a program inside: every way of talking to oneself.

link-meets.py DELAY_MS [once]: prints "NAME ok", or "NAME" and what is wrong.  Each one-way trip takes at
least the delay, and with "once" at most so much more that it was taken once and not twice.
"""

import hashlib
import os
import socket
import sys
import threading
import time

DELAY = float(sys.argv[1]) / 1000
ONCE = sys.argv[2:] == ["once"]
PATIENCE = 30
TRIES_SECONDS = 8  # of each call: they are 12
FAMILIES = {"4": (socket.AF_INET, "127.0.0.1"), "6": (socket.AF_INET6, "::1")}


def took(trips, seconds):
    if seconds < trips * DELAY:
        return "%d trips in %.1f ms" % (trips, seconds * 1000)
    if ONCE and seconds > (trips + 0.9) * DELAY:
        return "late: %d trips in %.1f ms" % (trips, seconds * 1000)
    return None


def fastest(call):
    """Of many tries: the machine may be busy, but no try may be too fast."""
    end = time.monotonic() + TRIES_SECONDS
    while True:
        wrong = call()
        if wrong is None or not wrong.startswith("late") or time.monotonic() > end:
            return wrong


def tcp(family, address):
    server = socket.socket(family)
    server.bind((address, 0))
    server.listen()
    client = socket.socket(family)
    client.settimeout(PATIENCE)
    began = time.monotonic()
    client.connect(server.getsockname())
    wrong = took(2, time.monotonic() - began)
    near, peer = server.accept()
    if peer[0] != address or client.getpeername()[0] != address:
        return "addresses %s %s" % (peer, client.getpeername())
    for a, b in ((client, near), (near, client)):
        a.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        began = time.monotonic()
        a.sendall(b"x")
        b.recv(1)
        wrong = wrong or took(1, time.monotonic() - began)
    return wrong


def bulk(family, address):
    """Bytes arrive as they were sent, both ways at once."""
    size = 4 << 20
    data = os.urandom(size)
    want = hashlib.sha256(data).digest()
    server = socket.socket(family)
    server.bind((address, 0))
    server.listen()
    client = socket.create_connection(server.getsockname()[:2], PATIENCE)
    near, _ = server.accept()
    near.settimeout(PATIENCE)
    got = {}

    def take(name, s):
        digest = hashlib.sha256()
        left = size
        while left:
            part = s.recv(1 << 16)
            if not part:
                break
            digest.update(part)
            left -= len(part)
        got[name] = digest.digest()

    tasks = [threading.Thread(target=take, args=("near", near)),
             threading.Thread(target=take, args=("client", client)),
             threading.Thread(target=client.sendall, args=(data,)),
             threading.Thread(target=near.sendall, args=(data,))]
    for task in tasks:
        task.start()
    for task in tasks:
        task.join(PATIENCE)
    return None if got == {"near": want, "client": want} else "bytes differ"


def udp(family, address, size=100):
    a = socket.socket(family, socket.SOCK_DGRAM)
    b = socket.socket(family, socket.SOCK_DGRAM)
    for s in (a, b):
        s.bind((address, 0))
        s.settimeout(PATIENCE)
    data = os.urandom(size)
    began = time.monotonic()
    a.sendto(data, b.getsockname())
    got, peer = b.recvfrom(65536)
    b.sendto(got, peer)
    if a.recv(65536) != data:
        return "another datagram"
    return took(2, time.monotonic() - began)


def fragments(family, address):
    return udp(family, address, 20000)


def refused(family, address):
    """That nobody is there is told by ICMP: there and back."""
    s = socket.socket(family, socket.SOCK_DGRAM)
    s.settimeout(PATIENCE)
    s.connect((address, 9))
    began = time.monotonic()
    s.send(b"x")
    try:
        s.recv(1)
    except ConnectionRefusedError:
        return took(2, time.monotonic() - began)
    return "an answer"


def reset(family, address):
    s = socket.socket(family)
    s.settimeout(PATIENCE)
    began = time.monotonic()
    try:
        s.connect((address, 9))
    except ConnectionRefusedError:
        return took(2, time.monotonic() - began)
    return "a connection"


def own_address(family, address):
    """Another one of the loopback's own, IPv4 alone has them."""
    if family != socket.AF_INET:
        return None
    return udp(family, "127.9.9.9")


calls = [tcp, bulk, udp, fragments, refused, reset, own_address]
for word, (family, address) in FAMILIES.items():
    for call in calls:
        try:
            if call is bulk:
                wrong = call(family, address)
            else:
                wrong = fastest(lambda: call(family, address))
        except OSError as error:
            wrong = repr(error)
        print("%s over IPv%s %s" % (call.__name__, word, wrong or "ok"))
