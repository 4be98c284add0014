#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Packets over a link with a delay that none of them sees the end of: as many as there is room for wait, the others are lost
# and counted, and the relay stays within its memory
# kernel

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/limits.sh"
. "$repo/tests/lib/link.sh"

need_tun
need_cgroups
need_system_program python3
check_leaks

# No more at once than the device itself keeps, before the relay has taken them.
cat >"$tmp/flood.py" <<'END'
import socket

def taken():
    for line in open("/proc/net/dev"):
        name, _, counts = line.partition(":")
        if name.strip() == "menace-tun":
            return int(counts.split()[9])

s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.connect(("127.0.0.1", 9))
before = taken()
for sent in range(100, 36000 + 1, 100):
    for _ in range(100):
        s.send(b"x" * 1400)
    while taken() < before + sent:
        pass
END
run --net loopback --set net.latency_ms=3600000 --set net.engine=tun -t "$(scaled 60)" --ro "$tmp/flood.py:/flood.py" -- \
	python3 /flood.py
assert_status 0
assert_eq "$(shaping applied.limit_packets)" 32768
assert_eq "$(json '.receipt.network.shaping.measured.relay | "\(.packets) \(.waiting) \(.dropped)"')" "0 32768 $((36000 - 32768))" \
	"packets that came through, that waited, that had no room"
# With those that the device itself had no room for: now and then one of the kernel's own.
assert_ge "$(shaping measured.dropped_by_limit)" $((36000 - 32768)) "lost for want of room"
assert_eq "$(shaping measured.lost)" 0 "lost on purpose"
assert_eq "$(json '.oom.kills')" 0 "killed for memory"
