#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# --net allowlist: connections and queries have their limits, which are told, and a server of names that is not there
# is passed over
# security

. "${0%/*}/../../lib/outside.sh"
. "${0%/*}/../../lib/system.sh"
start_outside

# 64 queries at once are asked outside, of a server that does not answer; the others get an error at once.
cat >"$tmp/flood.py" <<'PY'
import select, socket, struct

q = struct.pack(">HHHHHH", 1, 0x100, 1, 0, 0, 0) + b"\4good\7example\0\0\1\0\1"
poll = select.poll()
ones = {}
for _ in range(80):
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    s.connect(("127.0.0.53", 53))
    s.send(q)
    ones[s.fileno()] = s
    poll.register(s, select.POLLIN)
codes = []
while len(codes) < 16:
    for fd, _ in poll.poll():
        codes.append(ones[fd].recv(512)[3] & 15)
print(*codes)
PY
run --net allowlist --allow good.example -s net.resolver=203.0.113.1:7002 -t "$(scaled 60)" --ro "$tmp/flood.py:/flood.py" -- \
	python3 /flood.py
assert_status 0
assert_eq "$stdout" "$(printf '2 %.0s' {1..15})2" "codes of the answers"
assert_eq "$(json '.network.allowlist.denied.queries_full')" 16 "queries too many"
assert_eq "$(json '.network.allowlist.totals | "\(.queries) \(.resolved)"')" "80 0"

# The 257th connection at once is reset; when one is closed there is room again.
cat >"$tmp/many.py" <<'PY'
import socket, time

def reached():  # the reset may come before connect has returned
    try:
        s = socket.create_connection(("203.0.113.12", 25))
        return s if s.recv(3) == b"220" else None
    except ConnectionResetError:
        return None

open_ones = [reached() for _ in range(256)]
print("open", sum(s is not None for s in open_ones))
print("one more", reached() is not None)
open_ones.pop().close()
for _ in range(1000):
    again = reached()
    if again:
        break
    time.sleep(0.05)
print("after one closed", again is not None)
PY
allowed 203.0.113.12:25 --ro "$tmp/many.py:/many.py" -- python3 /many.py
assert_eq "$stdout" 'open 256
one more False
after one closed True'
assert_eq "$(json '.denials.rows[0] | "\(.what) \(.object) \(.rule) \(.errno.name)"')" 'connect 203.0.113.12:25 limit ECONNRESET'
assert_eq "$(json .network.allowlist.totals.open_max)" 256 'connections at once'
assert_ge "$(json .network.allowlist.denied.full)" 1 'refused ones'

# The first server refuses, the second answers.
run --net allowlist --allow good.example -s net.resolver=203.0.113.9:5353,203.0.113.53 -t "$(scaled 60)" -- \
	python3 -c 'import socket; print(socket.gethostbyname("good.example"))'
assert_eq "$stdout" 203.0.113.10
