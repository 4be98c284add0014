#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Four processes that send datagrams by sendmsg without end, each of them denied, are ended little after their deadline
# lane: soak (bounds the time from the deadline to the end)
# security

. "${0%/*}/../../lib/system.sh"

need_root
need_cgroups
need_system_program python3

cat >"$tmp/flood.py" <<'PY'
import os, socket, sys

for _ in range(2):
    os.fork()
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
i = 0
while i < int(sys.argv[1]):
    try:
        s.sendmsg([b"x"], [], 0, ("198.51.%d.%d" % (i >> 8 & 255, i & 255), 7))
    except OSError:
        pass
    i += 1
try:
    while True:
        os.wait()
except ChildProcessError:
    pass
PY
# One without end ends in time.  One that has hardly begun by then, or is ended late by a busy machine, gets more of it.
for seconds in 3 9 18; do
	limit=$(scaled $seconds)
	run -t "$limit" --ro "$tmp/flood.py:/flood.py" -- python3 /flood.py 1000000000
	assert_reason wall_timeout
	late=$((elapsed_ms - limit * 1000))
	[ "$(json .denials.by_layer.network)" -lt 10000 ] || [ "$late" -gt "$(scaled 5000)" ] || break
done
assert_le "$late" "$(scaled 5000)" "ms from the deadline to its kill"
assert_ge "$(json .denials.by_layer.network)" 10000 "denials"

