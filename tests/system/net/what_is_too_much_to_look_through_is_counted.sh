#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# --net allowlist: whoever is denied something is looked for in /proc, where the payload decides how much there is
# to look through: what was not looked at is counted and said, no denial is lost by it, and the run ends at its deadline
# security

. "${0%/*}/../../lib/outside.sh"
. "${0%/*}/../../lib/system.sh"
start_outside

# 60 processes with as many descriptors as they can have, which are more than are looked at, and one after them that asks.
cat >"$tmp/ask.py" <<'PY'
import os, signal, socket, struct, sys

r, w = os.pipe()
for _ in range(60):
    if os.fork() == 0:
        try:
            while True:
                os.dup(0)
        except OSError:
            os.write(w, b"x")
            signal.pause()
for _ in range(60):
    os.read(r, 1)
if os.fork() == 0:
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    s.connect(("127.0.0.53", 53))
    for first in 0, 20, 40:
        for i in range(first, first + 20):
            name = b"".join(bytes([len(p)]) + p for p in (b"x%d" % i, b"evil", b"com")) + b"\0"
            s.send(struct.pack(">HHHHHH", i, 0x100, 1, 0, 0, 0) + name + b"\0\1\0\1")
        for i in range(20):
            s.recv(512)
    os.write(w, b"y")
    signal.pause()
os.read(r, 1)
if sys.argv[1:]:
    signal.pause()
print("asked")
PY
# ask OPTION... -- ARGUMENT...
ask()
{
	run --net allowlist --allow good.example -s net.resolver=203.0.113.53 --ro "$tmp/ask.py:/ask.py" --nofile 1024 "${@:1:$#-1}" \
		python3 /ask.py ${!#}
}
ask -t "$(scaled 60)" -- ''
assert_status 0
assert_eq "$stdout" asked
assert_eq "$(json '.network.allowlist | "\(.denied.name) \(.looks_left_out) \(.totals.lost_messages)"')" "60 60 0" \
	"names that were denied, looks that were left out, lost messages"
assert_eq "$(json '[.denials.rows[] | select(.layer == "network" and .pid != null)] | length')" 0 "rows of a process"
assert_eq "$(json '[.denials.rows[] | select(.pid == null) | .reason]
	| map(test("not known: (there was too much to look through|more was refused at once)")) | all')" \
	true "why it is not known who asked"
# No denial is lost by that: all are in the sums.
assert_eq "$(json '.denials.by_layer.network')" 60 "denials of the network"
assert_eq "$(json '[.denials.rows[], .denials.overflow[] | select(.layer == "network") | .count] | add')" 60 "in rows and overflow"

# One that stays is ended at its deadline.
ask -t 0.7 -- stay
assert_reason wall_timeout
assert_ge "$(json .usage.wall_us)" 700000 "microseconds until the end"
