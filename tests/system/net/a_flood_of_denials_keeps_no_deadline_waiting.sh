#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# --net allowlist: whoever is denied something is looked for in /proc, where the payload decides how
# much there is to look through and how often: its deadline comes in time all the same, and
# what was not looked at is counted
# lane: soak (bounds the time from the deadline to the end)
# security

. "${0%/*}/../../lib/outside.sh"
. "${0%/*}/../../lib/system.sh"
start_outside

# 50 processes with as many descriptors as they can have, and one after them that asks and asks.
cat >"$tmp/flood.py" <<'PY'
import os, socket, struct, time

for _ in range(50):
    if os.fork() == 0:
        try:
            while True:
                os.dup(0)
        except OSError:
            pass
        time.sleep(3600)
if os.fork():
    time.sleep(3600)
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.connect(("127.0.0.53", 53))
s.setblocking(False)
i = 0
while True:
    i += 1
    name = b"".join(bytes([len(p)]) + p for p in (b"x%d" % i, b"evil", b"com")) + b"\0"
    try:
        s.send(struct.pack(">HHHHHH", i & 65535, 0x100, 1, 0, 0, 0) + name + b"\0\1\0\1")
    except OSError:
        time.sleep(0.001)
PY
# A flood that has hardly begun when its time is over gets more of it, and whoever ends it may be late on a busy machine.
late_ms()
{
	echo $(($(json '.usage.wall_us / 1000 | floor') - limit * 1000))
}
for seconds in 6 12 24; do
	limit=$(scaled $seconds)
	run --net allowlist --allow good.example -s net.resolver=203.0.113.53 -t "$limit" \
		--ro "$tmp/flood.py:/flood.py" -- python3 /flood.py
	assert_reason wall_timeout
	# To end them and to tell it all may take a busy machine longer.
	assert_le "$elapsed_ms" $((limit * 1000 + $(scaled 30) * 1000)) "ms until the end"
	[ "$(json '.network.allowlist.denied.name >= 300 and .network.allowlist.looks_left_out >= 1')" = false ] ||
		[ "$(late_ms)" -gt "$(scaled 3000)" ] || break
done
assert_le "$(late_ms)" "$(scaled 3000)" "ms from the deadline to its kill"
assert_ge "$(json '.network.allowlist.denied.name')" 300 "names that were denied"
assert_ge "$(json '.network.allowlist.looks_left_out')" 1 "looks that were left out"
assert_eq "$(json '[.denials.rows[] | select(.pid == null) | .reason]
	| map(test("not known: (there was too much to look through|more was refused at once)")) | all')" \
	true "why it is not known who asked"
# No denial is lost by that: all are in the sums.
assert_eq "$(json '.denials.by_layer.network - ([.network.allowlist.denied[]] | add)')" 0 "sums"
