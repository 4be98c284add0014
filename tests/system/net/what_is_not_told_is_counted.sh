#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# --net allowlist: denials that nobody had room for are in the sums of the result, and a menace-netd that
# did not come to its end is told

. "$(dirname "$0")/../../lib/outside.sh"
. "$(dirname "$0")/../../lib/system.sh"
start_outside

# More connects than a ring holds, refused by the kernel itself, to ever another address.
cat >"$tmp/flood.py" <<'PY'
import os, socket

for _ in range(3):
    os.fork()
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
for i in range(20000):
    try:
        s.sendto(b"", ("198.51.%d.%d" % (i >> 8 & 255, i & 255), 7))
    except OSError:
        pass
try:
    while True:
        os.wait()
except ChildProcessError:
    pass
PY
allowed good.example --ro "$tmp/flood.py:/flood.py" -- python3 /flood.py
assert_status 0
assert_eq "$(json .receipt.network.allowlist.connect_hook)" true hook
lost=$(json .network.allowlist.totals.lost_messages)
told=$(json '[.network.allowlist.denied[]] | add')
assert_eq $((lost + told)) 160000 "lost and told"
assert_eq "$(json .denials.by_layer.network)" 160000 "in the sum of the denials"
assert_eq "$(json '[.denials.rows[], .denials.overflow[] | select(.layer == "network") | .count] | add')" \
	160000 "in rows and overflow"

# It is stopped for good before the run ends.
mkfifo "$tmp/in"
"$MENACE_RUN" -o "$result" --net allowlist -t "$(scaled 60)" -- sh -c 'echo; cat' \
	<"$tmp/in" >"$tmp/said" 2>"$tmp/stderr" &
pid=$!
exec {in}>"$tmp/in"
wait_until "$(scaled 30)" test -s "$tmp/said" || fail "$(cat "$tmp/stderr")"
find_netd || fail "no menace-netd"
kill -STOP "$netd"
exec {in}>&-
wait "$pid"
assert_eq "$?" 0 "exit status"
assert_eq "$(json '.receipt.degraded[] | select(.item == "network-record") | .why')" \
	'what was told of the network may not be all: menace-netd did not come to its end'
assert_eq "$(json .network.allowlist.totals)" null "totals"
