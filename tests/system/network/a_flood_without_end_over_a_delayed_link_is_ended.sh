#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Many tasks that send as fast as they can over a delayed link without end: what finds no room is lost and counted, the
# relay stays within its memory, and the run's deadline is kept
# lane: soak (bounds the time from the deadline to the end)

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/limits.sh"
. "$repo/tests/lib/link.sh"

need_tun
need_cgroups
need_system_program python3
check_leaks

cat >"$tmp/flood.py" <<'END'
import os, socket
for _ in range(8):
    if os.fork() == 0:
        break
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.connect(("127.0.0.1", 9))
data = b"x" * 1400
while True:
    try:
        s.send(data)
    except OSError:
        pass
END
# A flood that has hardly begun when its time is over, or is ended late by a busy machine, gets more of it.
for s in 3 6 12; do
	seconds=$(scaled $s)
	run --net loopback --set net.latency_ms=1000 --set net.engine=tun -t "$seconds" --cpus 2 \
		--ro "$tmp/flood.py:/flood.py" -- python3 /flood.py
	assert_reason wall_timeout
	late=$(($(json '.usage.wall_us / 1000 | floor') - seconds * 1000))
	[ "$(shaping 'measured | .relay.packets >= 1 and .dropped_by_limit >= 1000')" = false ] ||
		[ "$late" -gt "$(scaled 2000)" ] || break
done
assert_le "$late" "$(scaled 2000)" "ms from the deadline to its kill"
assert_eq "$(shaping applied.limit_packets)" 32768
# All that could be under way is, the first went through, and the rest is told.
assert_ge "$(shaping measured.relay.packets)" 1 "packets that came through"
assert_le "$(shaping measured.relay.waiting)" 32768 "packets that waited"
assert_ge "$(shaping measured.dropped_by_limit)" 1000 "lost for want of room"
assert_eq "$(shaping measured.lost)" 0 "lost on purpose"
assert_eq "$(json '.oom.kills')" 0 "killed for memory"
