# SPDX-License-Identifier: Apache-2.0
"""The outside of a test: name server and servers in a network namespace of their own.

outside.py READY LOG CERT KEY: serves until its standard input ends.  Each thing that arrives is one
line of LOG, so that a test can tell what has come through.

  UDP and TCP 53     names of NAMES below; the log has "dns NAME TYPE"
  TCP 80, 8080       HTTP: answers with the Host header; the log has "http PORT HOST TARGET"
  TCP 443            TLS: answers "tls NAME" after the handshake; the log has "tls NAME"
  TCP 25             speaks first: "220 hello", then echoes; the log has "greet"
  TCP 7000           swallows bytes until the end, answers their number; the log has "sink N"
  TCP 7001           sends as many bytes as the line it gets says
  UDP 7002           the log has "udp"
  TCP 7003           says at once that it has nothing to say, and reads nothing
"""

import re
import socket
import ssl
import struct
import sys
import threading

NAMES = {
    "good.example": (30, ["203.0.113.10", "2001:db8::10"]),
    "other.example": (30, ["203.0.113.11"]),
    "same.example": (30, ["203.0.113.10"]),
    "alias.example": "good.example",
    "a.wild.example": (30, ["203.0.113.12"]),
    "loop.example": (30, ["127.0.0.1"]),
    "metadata.example": (30, ["169.254.169.254"]),
    "private.example": (30, ["10.1.2.3", "192.168.1.1", "fd00::1"]),
    "mapped.example": (30, ["::ffff:127.0.0.1", "64:ff9b::7f00:1"]),
    "host.example": (30, ["203.0.113.254"]),
    "mixed.example": (30, ["10.1.2.3", "203.0.113.10"]),
    "forever.example": (0xFFFFFFF, ["203.0.113.10"]),
    "loops.example": "loops.example",
}
ready, log_path, cert, key = sys.argv[1:5]
lock = threading.Lock()
log_file = open(log_path, "a", buffering=1)


def log(*words):
    with lock:
        log_file.write(" ".join(str(w) for w in words) + "\n")


def wire_name(name):
    return b"".join(bytes([len(p)]) + p.encode() for p in name.split(".")) + b"\0"


def records(name, kind, depth=0):
    entry = NAMES.get(name)
    if isinstance(entry, str):
        data = wire_name(entry)
        head = [wire_name(name) + struct.pack(">HHIH", 5, 1, 30, len(data)) + data]
        return head + (records(entry, kind, depth + 1) if depth < 3 else [])
    found = []
    if not entry and name.endswith(".wild.example"):
        entry = (30, ["203.0.113.12"])
    for address in entry[1] if entry else []:
        family = socket.AF_INET6 if ":" in address else socket.AF_INET
        if (family == socket.AF_INET6) != (kind == 28):
            continue
        data = socket.inet_pton(family, address)
        found.append(wire_name(name) + struct.pack(">HHIH", kind, 1, entry[0], len(data)) + data)
    return found


def answer(query):
    at, labels = 12, []
    while query[at]:
        labels.append(query[at + 1 : at + 1 + query[at]].decode("latin-1"))
        at += 1 + query[at]
    kind = struct.unpack(">H", query[at + 1 : at + 3])[0]
    name = ".".join(labels).lower()
    log("dns", name, kind)
    rr = records(name, kind)
    known = name in NAMES or name.endswith(".wild.example")
    head = query[:2] + struct.pack(">HHHHH", 0x8180 if known else 0x8183, 1, len(rr), 0, 0)
    return head + query[12 : at + 5] + b"".join(rr)


def serve_dns_udp():
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    s.bind(("203.0.113.53", 53))
    while True:
        query, peer = s.recvfrom(4096)
        s.sendto(answer(query), peer)


def http(c, port):
    data = b""
    while b"\r\n\r\n" not in data:
        more = c.recv(65536)
        if not more:
            return
        data += more
    host = re.search(rb"(?i)\r\nhost: *([^\r]*)", data)
    host = host.group(1).decode() if host else "-"
    log("http", port, host, data.split(b" ")[1].decode("latin-1"))
    body = ("host " + host).encode()
    c.sendall(b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: %d\r\n\r\n" % len(body) + body)


def tls(c, _port):
    names = []
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(cert, key)
    context.sni_callback = lambda sock, name, ctx: names.append(name)
    with context.wrap_socket(c, server_side=True) as t:
        name = names[0] if names else "-"
        log("tls", name)
        t.sendall(("tls %s\n" % name).encode())
        t.recv(1)


def greet(c, _port):
    log("greet")
    c.sendall(b"220 hello\r\n")
    while True:
        data = c.recv(4096)
        if not data:
            return
        c.sendall(data)


def sink(c, _port):
    n = 0
    buf = bytearray(1 << 18)
    while True:
        got = c.recv_into(buf)
        if not got:
            break
        n += got
    log("sink", n)
    c.sendall(b"%d\n" % n)


def source(c, _port):
    n = int(c.makefile().readline())
    block = b"x" * (1 << 18)
    while n > 0:
        n -= c.send(block[: min(n, len(block))])


def deaf(c, _port):
    c.shutdown(socket.SHUT_WR)
    threading.Event().wait()


def one(function, c, port):
    try:
        with c:
            function(c, port)
    except (OSError, ValueError) as e:
        log("error", port, type(e).__name__)


def serve_tcp(port, function):
    s = socket.socket(socket.AF_INET6, socket.SOCK_STREAM)
    s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    s.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
    s.bind(("::", port))
    s.listen(64)
    while True:
        c, _ = s.accept()
        threading.Thread(target=one, args=(function, c, port), daemon=True).start()


def serve_udp(port):
    s = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
    s.bind(("::", port))
    while True:
        s.recvfrom(4096)
        log("udp")


for target, args in [
    (serve_dns_udp, ()),
    (serve_tcp, (80, http)),
    (serve_tcp, (8080, http)),
    (serve_tcp, (443, tls)),
    (serve_tcp, (25, greet)),
    (serve_tcp, (7000, sink)),
    (serve_tcp, (7001, source)),
    (serve_tcp, (7003, deaf)),
    (serve_udp, (7002,)),
]:
    threading.Thread(target=target, args=args, daemon=True).start()
open(ready, "w").close()
sys.stdin.read()
