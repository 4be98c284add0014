#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# network loses packets and network_partition whole destinations, which the seed decides: what the
# program does not get is what is told

. "${0%/*}/../../lib/system.sh"

need_root
need_system_program python3

failure()
{
	json ".failures[] | select(.mode == \"$1\") | .$2"
}

# One after the other, so that what is counted is what was sent.
# How many are to come is waited for as long as it takes, one more for a moment.
send_100='
import socket, sys
a = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
a.bind(("127.0.0.1", 0))
b = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
for i in range(100):
    b.sendto(bytes([i]), a.getsockname())
got = set()
try:
    while len(got) < 100:
        a.settimeout(20 if len(got) < int(sys.argv[1]) else 0.2)
        got.add(a.recv(9)[0])
except OSError: pass
print("".join("+" if i in got else "-" for i in range(100)))'

patterns=([1]=+-+-+---+-+---+-+-+--+++++--++-+++--+++-++++++----++++--++-+-+-+--++----+++++++--+-+--++++-+++-+-+++
	[2]=+---++++-+++++++++-+-++++-+++-+---++-++---++++++-+-+--+++++-+--+++-+++--++++---++--+-++-+-++-+-+-+--)
for seed in 1 1 2; do
	kept=${patterns[seed]}
	lost=${kept//+/}
	run -t "$(scaled 50)" --net loopback --set failure.modes=network --set failure.intensity=40 \
		--set failure.seed=$seed -- python3 -c "$send_100" $((100 - ${#lost}))
	assert_status 0
	assert_eq "$stdout" "$kept" "packets with seed $seed"
	assert_eq "$(failure network '| "\(.opportunities) \(.fired) \(.packets)"')" "100 ${#lost} ${#lost}" "packets, and those that were lost"
done
run --net loopback --set failure.modes=network --set failure.intensity=0 -- python3 -c "$send_100" 100
assert_eq "${stdout//+/}" "" "at an intensity of 0"
run --net loopback --set failure.modes=network -- python3 -c "$send_100" 0
assert_eq "${stdout//-/}" "" "at an intensity of 100"
run --net loopback --set failure.modes=network -- true
assert_eq "$(json '[.inconclusive, .inconclusive_why[]] | join(" ")')" "true network: it had no opportunity"
# What else the link is like stays as it was, and is counted for itself.
run --net loopback --set failure.modes=network --set failure.intensity=0 -p '{"PACKET_LOSS": 100}' -- python3 -c "$send_100" 0
assert_eq "${stdout//-/}" "" "all lost by the link"
assert_eq "$(failure network fired)" 0

# ask_8 PATTERN: of which ones no answer is to come, so that it is waited for a moment only; all at once.
ask_8='
import concurrent.futures, socket, sys
def ask(host):
    s = socket.socket()
    s.settimeout(30 if sys.argv[1][int(host[1])] == "+" else 0.2)
    try:
        s.connect((socket.gethostbyname(host), 80))
        s.sendall(b"GET / HTTP/1.0\r\n\r\n")
        return "+" if s.makefile("rb").read().endswith(b"\r\n\r\nx") else "?"
    except TimeoutError:
        return "-"
hosts = ["h%d.example" % i for i in range(8)]
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
for kept in 1:---+--++ 1:---+--++ 2:++-++-++; do
	seed=${kept%:*} kept=${kept#*:}
	lost=${kept//+/}
	run -q -t "$(scaled 50)" --net stub "${mocks[@]}" --set failure.modes=network_partition \
		--set failure.intensity=50 --set failure.seed="$seed" -- python3 -c "$ask_8" "$kept"
	assert_status 0
	assert_eq "$stdout" "$kept" "destinations with seed $seed"
	assert_eq "$(failure network_partition '| "\(.opportunities) \(.fired)"')" "8 ${#lost}"
	assert_ge "$(failure network_partition packets)" "${#lost}"
done

for net in none host; do
	run --net $net --set failure.modes=network -- true
	assert_refused "failure.modes: network: it needs a network of the sandbox's own" "--best-effort FAILURE_MODES"
done
run --net none --set failure.modes=network,timeout --best-effort FAILURE_MODES -- true
assert_status 0
assert_eq "$(failure network made) $(json .inconclusive) $(json .receipt.degraded[0].item)" "false true FAILURE_MODES"
