#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# --net allowlist: no end of a connection, no urgent byte and no want of descriptors makes menace-netd
# turn without work: it sleeps while nothing moves
# security

. "${0%/*}/../../lib/outside.sh"
. "${0%/*}/../../lib/system.sh"
start_outside

cat >"$tmp/spin.py" <<'PY'
import os, resource, select, socket, struct, sys, time

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
    s.settimeout(0.3)
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
    p = select.poll()
    for s in found:
        p.register(s, 0)
    p.poll(20000)  # until one is reset
    return found

keep = globals()[sys.argv[1]]()
print("ready", flush=True)
sys.stdin.read()
PY

all_are_ready()
{
	! grep -L ready "$tmp"/*.said | grep -q .
}

# is_asleep NAME: since the last look the menace-netd of this run slept, for the 20 ms between two looks.  One that turns
# without work is on a processor, or waits for one.
is_asleep()
{
	local key value now=

	while read -r key value; do
		case $key in
		State:) now=${value%% *} ;;
		voluntary_ctxt_switches: | nonvoluntary_ctxt_switches:) now+=" $value" ;;
		esac
	done <"/proc/${netds[$1]}/status"
	[[ $now != S* || $now != "${last-}" ]] || return 0
	last=$now
	return 1
}

# begin CONNECTION [DESCRIPTORS]: a run of that name with this connection, which lasts until $tmp/end ends.
begin()
{
	local name=$1${2-}

	: >"$tmp/$name.said"
	(
		ulimit -n "${2:-1000}"
		exec "$MENACE_RUN" -o "$tmp/$name.json" --net allowlist --allow good.example,203.0.113.12 \
			-s net.resolver=203.0.113.53 -t "$(scaled 60)" --ro "$tmp/spin.py:/spin.py" \
			-- python3 /spin.py "$1"
	) <"$tmp/end" >"$tmp/$name.said" 2>&1 &
	pids[$name]=$!
}

# told NAME EXPRESSION
told()
{
	result=$tmp/$1.json json ".network.allowlist.$2"
}

declare -A pids netds
mkfifo "$tmp/end"
for connection in half early urgent gone; do
	begin $connection
done
# Two descriptors a connection: of one of these numbers none is left.
begin full 121
begin full 120
exec {end}>"$tmp/end"
wait_until 30 all_are_ready || fail "$(grep -L ready "$tmp"/*.said): $(cat "$tmp"/*.said)"

for name in "${!pids[@]}"; do
	netds[$name]=$(pgrep -P "${pids[$name]}" -x menace-netd) || fail "$name: menace-netd is gone"
	last=
	wait_until 60 is_asleep "$name" || fail "$name: menace-netd does not come to rest: $last"
done
exec {end}>&-
for name in "${!pids[@]}"; do
	wait "${pids[$name]}"
	assert_eq "$? $(gojq -r .reason "$tmp/$name.json")" '0 exited' "$name"
done

peer='peers[] | "\(.port) \(.failed) \(.errno_name)"'
assert_eq "$(told early "$peer")" '80 1 EPROTO' peer
assert_eq "$(told urgent "$peer")" '25 1 EPROTO' peer
assert_ge "$(($(told full121 'denied.full // 0') + $(told full120 'denied.full // 0')))" 1 \
	"connections that found no descriptor"
