#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Every try to take conditions away, or to be without them, fails: they are in force after
# all of these as before
# kernel
# security

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/limits.sh"
. "$repo/tests/lib/link.sh"

need_link
need_system_program python3
for program in tc ip; do
	[ -x /usr/sbin/$program ] || [ -x /usr/bin/$program ] || skip "no program $program"
done

cat >"$tmp/try.py" <<'END'
import ctypes, os, socket, struct, subprocess, sys

libc = ctypes.CDLL(None, use_errno=True)
done = []

def attempt(name, call):
    try:
        r = call()
    except OSError as error:
        r = error
    if r is None or r is True or (r is not False and r == 0):
        done.append(name)

def run(*words):
    attempt(" ".join(words), lambda: subprocess.run(words, capture_output=True).returncode)

for place in ("root", "clsact", "ingress"):
    run("tc", "qdisc", "del", "dev", "lo", place)
run("tc", "qdisc", "replace", "dev", "lo", "root", "pfifo")
run("tc", "qdisc", "change", "dev", "lo", "root", "netem", "loss", "0%")
run("tc", "filter", "del", "dev", "lo", "ingress")
run("tc", "filter", "del", "dev", "lo", "egress")
run("ip", "link", "set", "lo", "down")
run("ip", "link", "set", "lo", "mtu", "65536")
run("ip", "link", "set", "lo", "gso_max_segs", "64")
run("ip", "link", "add", "d0", "type", "dummy")
run("ip", "link", "add", "v0", "type", "veth")
run("ip", "route", "add", "default", "dev", "lo")
run("unshare", "-n", "true")
run("unshare", "-U", "-r", "-n", "true")

CLONE_NEWNET, CLONE_NEWUSER = 0x40000000, 0x10000000
attempt("unshare(NEWNET)", lambda: libc.unshare(CLONE_NEWNET))
attempt("unshare(NEWUSER|NEWNET)", lambda: libc.unshare(CLONE_NEWUSER | CLONE_NEWNET))
for pid in ("1", "self"):
    def enter():
        fd = os.open("/proc/%s/ns/net" % pid, os.O_RDONLY)
        return libc.setns(fd, CLONE_NEWNET)
    attempt("setns(%s)" % pid, enter)

# The mark of a second packet would pass as one that was there already.
udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
attempt("SO_MARK", lambda: udp.setsockopt(socket.SOL_SOCKET, 36, 0x6d64726f))
attempt("SO_RCVBUFFORCE", lambda: udp.setsockopt(socket.SOL_SOCKET, 33, 1 << 20))
attempt("raw socket", lambda: socket.socket(socket.AF_INET, socket.SOCK_RAW, 255) and 0)
attempt("packet socket", lambda: socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0) and 0)

def write(path):
    with open(path, "w") as f:
        f.write("1")
    return 0
attempt("sysctl", lambda: write("/proc/sys/net/ipv4/conf/lo/route_localnet"))
attempt("bpf", lambda: libc.syscall(321, 0, ctypes.create_string_buffer(128), 128) >= 0)

# Descriptors of ours that were left open would be a way: 0 to 2 and the one that lists.
for fd in os.listdir("/proc/self/fd"):
    if int(fd) > 2:
        try:
            link = os.readlink("/proc/self/fd/" + fd)
        except OSError:
            continue
        if "socket" in link and int(fd) != udp.fileno() or "bpf" in link:
            done.append("descriptor %s %s" % (fd, link))

print("done:", done)
sys.stdout.flush()
os.execv("/helpers/net-link", ["net-link", "50", "64", "0", "100", "100"])
END
chmod 644 "$tmp/try.py"

for level in 2 3; do
	run --net loopback --level $level --set net.loss_percent=100 --set net.rate=10mbit \
		--ro "$helpers:/helpers" --ro "$tmp/try.py:/try.py" -- python3 /try.py
	assert_status 0
	assert_eq "$(head -n 1 <<<"$stdout")" "done: []" "what came through at level $level"
	assert_eq "$(tail -n 1 <<<"$stdout" | jq .lost)" 50 "packets lost afterwards"
	assert_eq "$(json '.receipt.network.shaping.state')" enforced
	assert_ge "$(json '.receipt.network.shaping.measured | (.lost // .queue.drops)')" 50 "counted as lost"
done
