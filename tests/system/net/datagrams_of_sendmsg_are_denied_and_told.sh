#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Where no network leads out each datagram that sendmsg sends is a denial with address and process, and is counted
# exactly however many there are; where nobody can see them the result says so
# kernel
# security

. "${0%/*}/../../lib/system.sh"

need_root
need_cgroups
need_system_program python3

rows()
{
	json '[.denials.rows[] | select(.layer == "network")
		| "\(.what) \(.object) \(.address) \(.port) \(.errno.name) \(.comm) \(.rule) \(.allow) \(.count)"]
		| sort | join("\n")'
}

blind()
{
	json '[.denials.unseen[] | select(.layer == "network") | .what + ": " + .why] | join("\n")'
}

# Who sent it is known, also of a socket that came from another process of the run; what stays inside passes.
cat >"$tmp/who.py" <<'PY'
import array, ctypes, os, socket

def send(s, address):
    try:
        s.sendmsg([b"x"], [], 0, address)
    except OSError as e:
        return e.errno
    return 0

ours, theirs = socket.socketpair()
pid = os.fork()
if pid == 0:
    ctypes.CDLL(None).prctl(15, b"escapee", 0, 0, 0)
    fd = array.array("i")
    fd.frombytes(theirs.recvmsg(1, socket.CMSG_SPACE(4))[1][0][2])
    os._exit(send(socket.socket(fileno=fd[0]), ("1.1.1.1", 53)))
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
ours.sendmsg([b"s"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [s.fileno()]))])
print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), send(s, ("127.0.0.1", 7)))
ours.sendmsg([b"still here"])
print(theirs.recv(20).decode())
PY
run --ro "$tmp/who.py:/who.py" -- python3 /who.py
assert_status 0
assert_eq "$stdout" "101 101
still here"
assert_eq "$(rows)" "sendto 1.1.1.1:53 1.1.1.1 53 ENETUNREACH escapee net.mode=none --net host 1
sendto 127.0.0.1:7 127.0.0.1 7 ENETUNREACH python3 net.mode=none --net loopback 1"
assert_eq "$(json '[.denials.rows[].pid] | unique | length')" 2 "processes"
assert_eq "$(blind)" "" "what is not seen"

# A flood: sums are exact, rows are bounded.
cat >"$tmp/flood.py" <<'PY'
import os, socket, sys

for _ in range(2):
    os.fork()
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
i = 0
while i < int(sys.argv[1]):
    try:
        s.sendmsg([b"x"], [], 0, ("198.51.%d.%d" % (i >> 8 & 255, i & 255), 7))
    except OSError:
        pass
    i += 1
try:
    while True:
        os.wait()
except ChildProcessError:
    pass
PY
run -t "$(scaled 60)" --ro "$tmp/flood.py:/flood.py" -- python3 /flood.py 10000
assert_status 0
assert_eq "$(json '.denials | "\(.total) \(.by_layer.network)"')" "40000 40000" "total"
assert_eq "$(json '[.denials.rows[].count, .denials.overflow[].count] | add')" 40000 "rows and overflow"
assert_le "$(json '.denials.rows | length')" 256 "rows"
assert_eq "$(json '[.denials.overflow[].what] | tostring')" '["sendto"]' "overflow"

# Among mocks: what has no mock is one denial, by whichever call; loopback is the sandbox's own.
cat >"$tmp/mocks.py" <<'PY'
import socket

s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
for way in (lambda: s.sendmsg([b"x"], [], 0, ("198.51.100.1", 7)), lambda: s.sendto(b"x", ("198.51.100.2", 7)),
            lambda: s.connect(("198.51.100.3", 7)), lambda: s.sendmsg([b"x"], [], 0, ("127.0.0.1", 7)),
            lambda: s.sendmsg([b"x"], [], 0, (socket.gethostbyname("mock.example"), 80))):
    try:
        print(way())
    except OSError as e:
        print(e.errno)
PY
run --net stub --mock mock.example=body:x --ro "$tmp/mocks.py:/mocks.py" -- python3 /mocks.py
assert_status 0
assert_eq "$stdout" $'101\n101\n101\n1\n1'
assert_eq "$(rows | grep -F 198.51)" "connect 198.51.100.3:7 198.51.100.3 7 ENETUNREACH python3 net.mode=stub --mock TARGET=ACTION 1
sendto 198.51.100.1:7 198.51.100.1 7 ENETUNREACH python3 net.mode=stub --mock TARGET=ACTION 1
sendto 198.51.100.2:7 198.51.100.2 7 ENETUNREACH python3 net.mode=stub --mock TARGET=ACTION 1"
assert_eq "$(blind)" "" "what is not seen among mocks"

# With loopback alone: what would leave it, by whichever call; what does not passes, a group's datagrams
# among it.
cat >"$tmp/loopback.py" <<'PY'
import socket

def to_group():
    lo = socket.inet_aton("127.0.0.1")
    there = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    there.bind(("", 5000))
    there.settimeout(20)
    there.setsockopt(socket.IPPROTO_IP, socket.IP_ADD_MEMBERSHIP, socket.inet_aton("239.1.1.1") + lo)
    here = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    here.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_IF, lo)
    here.sendmsg([b"came"], [], 0, ("239.1.1.1", 5000))
    return there.recv(10).decode()

s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
for way in (lambda: s.sendmsg([b"x"], [], 0, ("198.51.100.1", 7)), lambda: s.sendto(b"x", ("198.51.100.2", 7)),
            lambda: s.connect(("198.51.100.3", 7)), lambda: s.sendmsg([b"x"], [], 0, ("127.3.0.1", 7)),
            lambda: socket.socket(socket.AF_INET6, socket.SOCK_DGRAM).sendto(b"x", ("::1", 7)),
            lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM, 1), to_group):
    try:
        print(way())
    except OSError as e:
        print(e.errno)
PY
run --net loopback --ro "$tmp/loopback.py:/loopback.py" -- python3 /loopback.py
assert_status 0
assert_eq "$stdout" $'101\n101\n101\n1\n1\n13\ncame'
assert_eq "$(rows)" "connect 198.51.100.3:7 198.51.100.3 7 ENETUNREACH python3 net.mode=loopback --net host 1
sendto 198.51.100.1:7 198.51.100.1 7 ENETUNREACH python3 net.mode=loopback --net host 1
sendto 198.51.100.2:7 198.51.100.2 7 ENETUNREACH python3 net.mode=loopback --net host 1
socket ICMP null null EACCES python3 net.mode=loopback --net host 1"
groups="what is sent to groups (multicast, broadcast): a program may have groups on loopback, and only the kernel\
 knows whether it does"
assert_eq "$(blind)" "$groups" "what is not seen with loopback"

# Nobody hangs a program at a control group that there is not: it is said.
need_unprivileged_user
install -d -o 65534 "$tmp/out"
result=$tmp/out/result
run_plain "${as_user[@]}" "$MENACE_RUN" -o "$result" --best-effort cgroup -- python3 -c '
import socket
try:
    socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendmsg([b"x"], [], 0, ("1.1.1.1", 53))
except OSError as e:
    print(e.errno)'
assert_status 0
assert_eq "$stdout" 101
assert_eq "$(blind)" "datagrams sent by sendmsg and sendmmsg: the run has no control group"
run_plain "${as_user[@]}" "$MENACE_RUN" -o "$result" --best-effort cgroup -- true
assert_status 0
assert_eq "$(blind)" "" "of a run that sends nothing"
run_plain "${as_user[@]}" "$MENACE_RUN" -o "$result" --best-effort cgroup --net loopback -- python3 -c '
import socket
socket.socket()'
assert_status 0
assert_eq "$(blind)" "connections and datagrams that would leave loopback: the run has no control group
$groups"
