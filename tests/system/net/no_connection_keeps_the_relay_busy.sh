#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# --net allowlist: no end of a connection, no urgent byte and no want of descriptors makes menace-netd
# turn without work: it sleeps while nothing moves
#
# any kernel

. "$(dirname "$0")/../../lib/outside.sh"
. "$(dirname "$0")/../../lib/system.sh"
[ "$MENACE_SLOWDOWN" = 1 ] || skip "processor time is not the program's own here"
start_outside

cat >"$tmp/spin.py" <<'PY'
import os, resource, socket, struct, sys, time

def half():  # the beginning of a request, and then an end
    s = socket.create_connection(("good.example", 80))
    s.sendall(b"GET /")
    s.shutdown(socket.SHUT_WR)
    return s

def early():  # urgent before the name is known
    s = socket.create_connection(("good.example", 80))
    s.sendall(b"GET /")
    s.send(b"U", socket.MSG_OOB)
    return s

def urgent():
    s = socket.create_connection(("good.example", 25))
    s.recv(20)
    s.send(b"U", socket.MSG_OOB)
    try:
        s.send(b"abc")
    except ConnectionResetError:
        pass
    return s

def gone():  # reset while the other side takes nothing of what was sent
    s = socket.create_connection(("203.0.113.12", 7003))
    while s.recv(10):
        pass
    s.settimeout(2)
    try:
        while True:
            s.send(b"x" * 65536)
    except TimeoutError:
        pass
    s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    s.close()

def full():  # more connections, of which nothing is said yet, than descriptors
    address = (socket.gethostbyname("good.example"), 80)
    found = []
    for _ in range(80):
        s = socket.socket()
        s.setblocking(False)
        s.connect_ex(address)
        found.append(s)
    return found

keep = globals()[sys.argv[1]]()
print("ready", flush=True)
sys.stdin.read()
PY

is_ready()
{
	grep -q ready "$tmp/said"
}

ticks()
{
	local stat

	stat=$(cat "/proc/$netd/stat") || fail "menace-netd is gone"
	read -r -a stat <<<"${stat##*) }"
	echo $((stat[11] + stat[12]))
}

# sleeps NAME: this connection, and the processor time that two seconds of it take
sleeps()
{
	local began used pid

	rm -f "$tmp/$1.in"
	mkfifo "$tmp/$1.in"
	: >"$tmp/said"
	"$MENACE_RUN" -o "$result" --net allowlist --allow good.example,203.0.113.12 \
		-s net.resolver=203.0.113.53 -t "$(scaled 60)" --ro "$tmp/spin.py:/spin.py" \
		-- python3 /spin.py "$1" <"$tmp/$1.in" >"$tmp/said" 2>&1 &
	pid=$!
	exec {in}>"$tmp/$1.in"
	wait_until "$(scaled 30)" is_ready || fail "$1: $(cat "$tmp/said")"
	find_netd || fail "no menace-netd"
	began=$(ticks)
	sleep 2
	used=$(($(ticks) - began))
	exec {in}>&-
	wait "$pid"
	assert_eq "$? $(json .reason)" '0 exited' "$1"
	assert_le "$used" 20 "$1: hundredths of a second of processor time in two"
}

sleeps half
sleeps early
assert_eq "$(json '.network.allowlist.peers[] | "\(.port) \(.failed) \(.errno_name)"')" '80 1 EPROTO' peer
sleeps urgent
assert_eq "$(json '.network.allowlist.peers[] | "\(.port) \(.failed) \(.errno_name)"')" '25 1 EPROTO' peer
sleeps gone
# Two descriptors a connection: of one of these numbers none is left.
refused=0
for n in 121 120; do
	ulimit -n $n
	sleeps full
	refused=$((refused + $(json '.network.allowlist.denied.full // 0')))
done
assert_ge "$refused" 1 "connections that found no descriptor"
