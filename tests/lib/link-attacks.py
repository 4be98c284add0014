# SPDX-License-Identifier: Apache-2.0
"""Ways round a relay's delay, tried from inside.

link-attacks.py DELAY_MS: prints "NAME held" or "NAME escaped WHAT" for each.  To escape is to be
received sooner than the delay, by another way, or to get at what makes it.
"""

import ctypes
import os
import socket
import struct
import subprocess
import sys
import time

DELAY = float(sys.argv[1]) / 1000
TUN = "menace-tun"
libc = ctypes.CDLL(None, use_errno=True)
IP_PKTINFO, IPV6_PKTINFO, SO_MARK, SO_BINDTOIFINDEX = 8, 50, 36, 62
IP_UNICAST_IF, IP_TRANSPARENT, IP_FREEBIND = 50, 19, 15


def index():
    return socket.if_nametoindex(TUN)


def receiver(family=socket.AF_INET, address="127.0.0.1"):
    s = socket.socket(family, socket.SOCK_DGRAM)
    s.bind((address, 0))
    s.settimeout(3 * DELAY)
    return s


def comes(target, send):
    """What was sent either never comes, or has taken its time."""
    began = time.monotonic()
    send()
    try:
        data, peer = target.recvfrom(2000)
    except TimeoutError:
        return None
    spent = time.monotonic() - began
    return None if spent >= DELAY else "in %.1f ms from %s" % (spent * 1000, peer[0])


def by_option(level, option, value, family=socket.AF_INET, address="127.0.0.1"):
    target = receiver(family, address)
    s = socket.socket(family, socket.SOCK_DGRAM)
    s.setsockopt(level, option, value)
    return comes(target, lambda: s.sendto(b"x", target.getsockname()))


def bind_to_device():
    return by_option(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, TUN.encode() + b"\0")


def bind_to_device_v6():
    return by_option(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, TUN.encode() + b"\0",
                     socket.AF_INET6, "::1")


def bind_to_index():
    return by_option(socket.SOL_SOCKET, SO_BINDTOIFINDEX, struct.pack("i", index()))


def unicast_interface():
    return by_option(socket.IPPROTO_IP, IP_UNICAST_IF, struct.pack("!I", index()))


def pktinfo():
    target = receiver()
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    info = struct.pack("i4s4s", index(), b"\0" * 4, socket.inet_aton("127.0.0.1"))
    return comes(target, lambda: s.sendmsg([b"x"], [(socket.IPPROTO_IP, IP_PKTINFO, info)], 0,
                                           target.getsockname()))


def pktinfo_v6():
    target = receiver(socket.AF_INET6, "::1")
    s = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
    info = socket.inet_pton(socket.AF_INET6, "::1") + struct.pack("i", index())
    return comes(target, lambda: s.sendmsg([b"x"], [(socket.IPPROTO_IPV6, IPV6_PKTINFO, info)],
                                           0, target.getsockname()[:2]))


def multicast_v6():
    """All nodes on the device, which the payload itself has joined."""
    target = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
    target.bind(("::", 0))
    target.settimeout(3 * DELAY)
    group = socket.inet_pton(socket.AF_INET6, "ff02::1234") + struct.pack("i", index())
    target.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_JOIN_GROUP, group)
    s = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
    s.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_MULTICAST_LOOP, 0)
    return comes(target, lambda: s.sendto(b"x", ("ff02::1234", target.getsockname()[1], 0,
                                                 index())))


def multicast():
    target = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    target.bind(("0.0.0.0", 0))
    target.settimeout(3 * DELAY)
    request = struct.pack("4s4si", socket.inet_aton("239.1.2.3"), b"\0" * 4, index())
    target.setsockopt(socket.IPPROTO_IP, socket.IP_ADD_MEMBERSHIP, request)
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    s.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_IF, request)
    s.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_LOOP, 0)
    return comes(target, lambda: s.sendto(b"x", ("239.1.2.3", target.getsockname()[1])))


def broadcast():
    target = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    target.bind(("0.0.0.0", 0))
    target.settimeout(3 * DELAY)
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    s.setsockopt(socket.SOL_SOCKET, socket.SO_BROADCAST, 1)
    s.setsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, TUN.encode() + b"\0")
    return comes(target, lambda: s.sendto(b"x", ("255.255.255.255", target.getsockname()[1])))


def storm():
    """A thousand frames to everybody on the device: how many the relay had, it tells itself."""
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    s.setsockopt(socket.SOL_SOCKET, socket.SO_BROADCAST, 1)
    s.setsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, TUN.encode() + b"\0")
    for _ in range(1000):
        try:
            s.sendto(b"x", ("255.255.255.255", 9))
        except OSError:  # what is lost may be told
            pass


def foreign_source():
    """As from an address that is not one's own."""
    target = receiver()
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    s.setsockopt(socket.IPPROTO_IP, IP_FREEBIND, 1)
    s.bind(("203.0.113.9", 0))
    return comes(target, lambda: s.sendto(b"x", target.getsockname()))


def done(call):
    """A thing that must not be possible at all."""
    r = call()
    return None if r is False or (isinstance(r, int) and r != 0) else "done"


def mark():
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    return done(lambda: s.setsockopt(socket.SOL_SOCKET, SO_MARK, 0x6d726c79))


def transparent():
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    return done(lambda: s.setsockopt(socket.IPPROTO_IP, IP_TRANSPARENT, 1))


def raw_socket():
    socket.socket(socket.AF_INET, socket.SOCK_RAW, 255)
    return "a raw socket"


def packet_socket():
    socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
    return "a packet socket"


def tun_device():
    os.open("/dev/net/tun", os.O_RDWR)
    return "its own device"


def make_tun_node():
    os.mknod("/tmp/tun", 0o600 | 0o020000, os.makedev(10, 200))
    os.open("/tmp/tun", os.O_RDWR)
    return "its own device"


def commands(*words):
    """The programs may be missing inside: then nothing was done."""
    try:
        status = subprocess.run(words, capture_output=True, check=False).returncode
    except OSError:
        return None
    return "status 0" if status == 0 else None


def sysctl():
    for name in ("accept_local", "route_localnet"):
        with open("/proc/sys/net/ipv4/conf/lo/" + name, "w", encoding="ascii") as f:
            f.write("0")
    return "written"


def relay_is_hidden():
    """No process and no descriptor of it is to be seen."""
    for pid in filter(str.isdigit, os.listdir("/proc")):
        with open("/proc/%s/comm" % pid, encoding="ascii") as f:
            if f.read().startswith("menace-netd"):
                return "process %s" % pid
        try:
            links = [os.readlink("/proc/%s/fd/%s" % (pid, fd))
                     for fd in os.listdir("/proc/%s/fd" % pid)]
        except OSError:
            continue
        if any("tun" in link for link in links):
            return "descriptor of process %s" % pid
    return None


def delay_is_there():
    """At the end of all that: as before."""
    target = receiver()
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    began = time.monotonic()
    s.sendto(b"x", target.getsockname())
    target.settimeout(20)
    target.recv(10)
    spent = time.monotonic() - began
    return None if spent >= DELAY else "%.1f ms" % (spent * 1000)


attacks = [bind_to_device, bind_to_device_v6, bind_to_index, unicast_interface, pktinfo,
           pktinfo_v6, multicast_v6, multicast, broadcast, storm, foreign_source, mark, transparent,
           raw_socket, packet_socket, tun_device, make_tun_node, sysctl, relay_is_hidden]
for attack in attacks:
    try:
        what = attack()
    except OSError:
        what = None
    print(attack.__name__, "escaped " + what if what else "held")
for line in ("ip link set menace-tun down", "ip link del menace-tun",
             "ip link set menace-tun name x", "ip addr add 10.0.0.1/24 dev menace-tun",
             "ip route add 10.0.0.0/8 dev menace-tun", "ip link set lo mtu 65536",
             "ip neigh add 127.0.0.1 lladdr 00:00:00:00:00:00 dev menace-tun",
             "tc qdisc del dev lo clsact", "tc qdisc del dev menace-tun clsact",
             "tc qdisc replace dev menace-tun root netem loss 0%",
             "tc filter del dev menace-tun egress", "unshare -n true", "unshare -Urn true"):
    what = commands(*line.split())
    print(line.replace(" ", "_"), "escaped " + what if what else "held")
what = delay_is_there()
print("delay_is_there", "escaped " + what if what else "held")
