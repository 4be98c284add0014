#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# network loses packets and network_partition whole destinations, which the seed decides: what the
# program does not get is what is told
#

. "${0%/*}/../../lib/system.sh"

need_root
need_system_program python3

failure()
{
	json ".failures[] | select(.mode == \"$1\") | .$2"
}

# One after the other, so that what is counted is what was sent.
send_100='
import socket
a = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
a.bind(("127.0.0.1", 0))
b = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
for i in range(100):
    b.sendto(bytes([i]), a.getsockname())
a.settimeout(0.5)
got = set()
try:
    while len(got) < 100: got.add(a.recv(9)[0])
except OSError: pass
print("".join("+" if i in got else "-" for i in range(100)))'

for seed in 1 1 2; do
	run -t "$(scaled 20)" --net loopback --set failure.modes=network --set failure.intensity=40 \
		--set failure.seed=$seed -- python3 -c "$send_100"
	assert_status 0
	assert_eq "$(failure network opportunities)" 100 "packets"
	lost=${stdout//+/}
	assert_eq "$(failure network fired) $(failure network packets)" "${#lost} ${#lost}"
	assert_ge ${#lost} 23
	assert_le ${#lost} 57
	patterns+=("$stdout")
done
assert_eq "${patterns[1]}" "${patterns[0]}" "the same seed"
assert_ne "${patterns[2]}" "${patterns[0]}" "another seed"
run --net loopback --set failure.modes=network --set failure.intensity=0 -- python3 -c "$send_100"
assert_eq "${stdout//+/}" "" "at an intensity of 0"
run --net loopback --set failure.modes=network -- python3 -c "$send_100"
assert_eq "${stdout//-/}" "" "at an intensity of 100"
run --net loopback --set failure.modes=network -- true
assert_eq "$(json '[.inconclusive, .inconclusive_why[]] | join(" ")')" "true network: it had no opportunity"
# What else the link is like stays as it was, and is counted for itself.
run --net loopback --set failure.modes=network --set failure.intensity=0 -p '{"PACKET_LOSS": 100}' -- python3 -c "$send_100"
assert_eq "${stdout//-/}" "" "all lost by the link"
assert_eq "$(failure network fired)" 0

# All of them are waited for at once, so that the time may be long.
ask_8='
import concurrent.futures, socket, sys
def ask(host):
    s = socket.socket()
    s.settimeout(float(sys.argv[1]) / 1000)
    try:
        s.connect((host, 80))
        s.sendall(b"GET / HTTP/1.0\r\n\r\n")
        return "+" if s.makefile("rb").read().endswith(b"\r\n\r\nx") else "?"
    except TimeoutError:
        return "-"
hosts = [socket.gethostbyname("h%d.example" % i) for i in range(8)]
with concurrent.futures.ThreadPoolExecutor(8) as pool:
    print("".join(pool.map(ask, hosts)), end="")
# The resolver and its own ends are not cut off.
a = socket.create_server(("127.0.0.1", 0))
socket.create_connection(a.getsockname(), 30).close()
print()'
mocks=()
for i in {0..7}; do
	mocks+=(--mock "h$i.example=body:x")
done
patterns=()
for seed in 1 1 2; do
	run -q -t "$(scaled 30)" --net stub "${mocks[@]}" --set failure.modes=network_partition \
		--set failure.intensity=50 --set failure.seed=$seed -- python3 -c "$ask_8" "$(scaled 3000)"
	assert_status 0
	lost=${stdout//+/}
	assert_match "$stdout" '^[+-]{8}$'
	assert_eq "$(failure network_partition opportunities) $(failure network_partition fired)" "8 ${#lost}"
	assert_ge "$(failure network_partition packets)" "${#lost}"
	assert_ge ${#lost} 1
	patterns+=("$stdout")
done
assert_eq "${patterns[1]}" "${patterns[0]}" "the same seed"
assert_ne "${patterns[2]}" "${patterns[0]}" "another seed"

for net in none host; do
	run --net $net --set failure.modes=network -- true
	assert_refused "failure.modes: network: it needs a network of the sandbox's own" "--best-effort FAILURE_MODES"
done
run --net none --set failure.modes=network,timeout --best-effort FAILURE_MODES -- true
assert_status 0
assert_eq "$(failure network made) $(json .inconclusive) $(json .receipt.degraded[0].item)" "false true FAILURE_MODES"
