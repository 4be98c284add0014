#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Where there is no sch_netem a link that is to be delayed by it falls to a virtual machine by itself, says so, and
# the round trip is as long as asked.
# lane: machine
. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/qemu.sh"
. "$repo/tests/lib/limits.sh"
. "$repo/tests/lib/link.sh"

need_machine
! has_netem || skip "this kernel has sch_netem"
check_leaks

cat >"$tmp/code.py" <<'END'
import socket, time
server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
server.bind(("127.0.0.1", 0))
client = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
server.settimeout(2)
client.settimeout(2)
best = 9.9
for i in range(4):
    began = time.monotonic()
    try:  # one in a hundred is lost
        client.sendto(b"ping", server.getsockname())
        data, peer = server.recvfrom(10)
        server.sendto(data, peer)
        client.recvfrom(10)
        best = min(best, time.monotonic() - began)
    except TimeoutError:
        pass
print(int(best * 1000))
END
run --net loopback --set net.engine=netem --timeout 60s --preset '{"NETWORK_LATENCY_MS": 200, "PACKET_LOSS": 1}' \
	"$tmp/code.py"
assert_status 0
assert_ge "$stdout" 400 "round trip"
assert_le "$stdout" 600 "round trip"
assert_contains "$stderr" 'backend qemu (shape: latency_ms, loss_percent cannot be made here'
assert_eq "$(json .receipt.backend.name)" qemu
assert_eq "$(json '.receipt.backend.losses | map(.item) | join(" ")')" 'receipt reader'
assert_eq "$(json .receipt.network.shaping.engine)" netem
assert_eq "$(json .receipt.network.shaping.applied.latency_ms)" 200
assert_ge "$(json '.receipt.network.shaping.measured.probe.rtt_min_ms | floor')" 400
assert_eq "$(json .receipt.network.shaping.applied.loss_percent)" 1
