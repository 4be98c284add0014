#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# With --net stub and --net allowlist names, connections and answers take the delay, each way; and a fault of
# the link is in force beside it

. "${0%/*}/../../lib/outside.sh"
. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/limits.sh"
. "$repo/tests/lib/link.sh"

need_tun
need_system_program python3
start_outside

ms=$(scaled 40)
cat >"$tmp/ask.py" <<'END'
import socket, sys, time
name, port, said = sys.argv[1], int(sys.argv[2]), sys.argv[3].encode().decode("unicode_escape").encode()

def took(call):
    global began
    began = time.monotonic()
    result = call()
    print(int((time.monotonic() - began) * 1000), end=" ")
    return result

address = took(lambda: socket.getaddrinfo(name, port, socket.AF_INET, socket.SOCK_STREAM))[0][4]
s = socket.socket()
s.settimeout(30)
took(lambda: s.connect(address))
# From before the connect: whoever speaks first does so as soon as there is a connection.
s.sendall(said)
s.recv(1000)
print(int((time.monotonic() - began) * 1000))
END

# asked OPTION... -- NAME PORT TEXT: three times, of a trip there and back, another, and that with one more.
asked()
{
	local i trips=(2 2 4)

	run --set "net.latency_ms=$ms" --set net.engine=tun -t "$(scaled 60)" --ro "$tmp/ask.py:/ask.py" \
		"${@:1:$#-3}" python3 /ask.py "${@: -3}"
	assert_status 0
	# shellcheck disable=SC2086 # words
	set -- $stdout
	assert_eq $# 3 "times"
	for i in 0 1 2; do
		assert_ge "$1" $((trips[i] * ms)) "ms of ${trips[i]} trips"
		shift
	done
	assert_eq "$(json '.receipt.network.shaping | .state + " " + .engine')" "enforced tun"
	assert_ne "$(json .receipt.network.answered_by.control_group)" \
		"$(json .receipt.network.shaping.measured.relay.control_group)" "groups of the two helpers"
}

asked --net stub --mock 'http://api.example.com/*=body:hello' -- \
	api.example.com 80 'GET / HTTP/1.0\r\nHost: api.example.com\r\n\r\n'
asked --net allowlist --allow good.example -s net.resolver=203.0.113.53 -- good.example 25 ''

# A fault is of what has had its delay: sent before it, lost within it.  An interpreter that begins too late for that, or
# when it is over, gets more time.
cat >"$tmp/late.py" <<'END'
import socket, sys, time
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.bind(("127.0.0.1", 0))
for i in range(100):
    s.sendto(b"%d" % i, s.getsockname())
    time.sleep(float(sys.argv[1]))
s.settimeout(20)
got = []
try:
    while got[-1:] != [99]:  # they come in the order in which they were sent
        got.append(int(s.recv(10)))
except TimeoutError:
    pass
print(len(got), *got[:1], *got[-1:])
END
for s in 1 4 12; do
	run --net loopback --set net.latency_ms=300 --set net.engine=tun --net-fault "blackhole@${s}s..$((s * 1500))ms" \
		-t "$(scaled 60)" --ro "$tmp/late.py:/late.py" -- python3 /late.py "$(awk "BEGIN { print 0.02 * $s }")"
	assert_status 0
	[[ $stdout != *" 0 99" || $stdout == "100 "* ]] || break
done
assert_eq "$(json '.receipt.network.faults[0].state')" taken
lost=$(json '.receipt.network.faults[0].measured.taken')
assert_ge "$lost" 1 "packets that the fault took"
assert_eq "$stdout" "$((100 - lost)) 0 99" "packets that came: how many, the first, the last"
