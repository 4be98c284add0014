#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# With --net stub and --net allowlist names, connections and answers take the delay each way, and not much more
# lane: soak (bounds the time of a trip)

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

# asked OPTION... -- NAME PORT TEXT: three times, of a trip there and back, another, and that with one more; 1: one of
# them is late, which a busy machine is now and then.
asked()
{
	local i late=0 trips=(2 2 4)

	run --set "net.latency_ms=$ms" --set net.engine=tun -t "$(scaled 60)" --ro "$tmp/ask.py:/ask.py" \
		"${@:1:$#-3}" python3 /ask.py "${@: -3}"
	assert_status 0
	# shellcheck disable=SC2086 # words
	set -- $stdout
	assert_eq $# 3 "times"
	for i in 0 1 2; do
		assert_ge "$1" $((trips[i] * ms)) "ms of ${trips[i]} trips"
		late=$(($1 > (trips[i] + 4) * ms + $(scaled 100) ? $1 : late))
		shift
	done
	assert_eq "$(json '.receipt.network.shaping | .state + " " + .engine')" "enforced tun"
	assert_ne "$(json .receipt.network.answered_by.control_group)" \
		"$(json .receipt.network.shaping.measured.relay.control_group)" "groups of the two helpers"
	[ "$late" -eq 0 ]
}

patiently asked --net stub --mock 'http://api.example.com/*=body:hello' -- \
	api.example.com 80 'GET / HTTP/1.0\r\nHost: api.example.com\r\n\r\n' || fail "round trips take $stdout ms"
patiently asked --net allowlist --allow good.example -s net.resolver=203.0.113.53 -- good.example 25 '' ||
	fail "round trips take $stdout ms"
