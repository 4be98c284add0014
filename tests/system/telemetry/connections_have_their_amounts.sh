#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Bytes each way of TCP connections are exact, with round-trip times; those that fail say why
#
# kernel

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/telemetry.sh"

need_telemetry
need_system_program python3
cat >"$tmp/talk.py" <<'PY'
import socket, sys, threading
def drain(s, n):
    while n > 0:
        n -= len(s.recv(min(n, 1 << 20)))
for family, host in ((socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::1")):
    listener = socket.socket(family)
    listener.bind((host, 0))
    listener.listen()
    client = socket.create_connection(listener.getsockname()[:2])
    other = listener.accept()[0]
    reader = threading.Thread(target=drain, args=(other, 5000000))
    reader.start()
    client.sendall(b"x" * 5000000)
    reader.join()
    other.sendall(b"y" * 77)
    drain(client, 77)
    client.close()
    assert other.recv(1) == b""
    other.close()
    print(listener.getsockname()[1])
    listener.close()
refused = socket.socket()
try:
    refused.connect(("127.0.0.1", 9))
except ConnectionRefusedError:
    pass
PY
run -q --net loopback -t "$(scaled 30)" --store "$tmp/store.db" --ro "$tmp/talk.py:/talk.py" -- python3 /talk.py
assert_status 0
mapfile -t ports <"$tmp/stdout"
of() { json "[.telemetry.connections[] | select(.direction == \"$1\") | [.family, .remote, .verdict, .tx_bytes, .rx_bytes, .closed]] | tostring"; }
assert_eq "$(of out)" '[["inet","127.0.0.1","allowed",5000000,77,1],["inet6","::1","allowed",5000000,77,1],["inet","127.0.0.1","failed",null,null,1]]' "connections asked for"
assert_eq "$(of in)" '[["inet","127.0.0.1","allowed",77,5000000,1],["inet6","::1","allowed",77,5000000,1]]' "connections accepted"
assert_eq "$(json '[.telemetry.connections[] | select(.direction == "out") | .remote_port] | tostring')" "[${ports[0]},${ports[1]},9]" ports
assert_eq "$(json '.telemetry.connections[] | select(.verdict == "failed") | .errno')" 111 "errno of the refused one"
assert_eq "$(json '.telemetry.counters | [.tcp_closed, .tcp_sent_bytes, .tcp_received_bytes] | tostring')" "[4,10000154,10000154]" amounts
assert_eq "$(json '[.telemetry.connections[] | select(.verdict == "allowed") | .rtt_us > 0] | all')" true "round-trip times"
assert_eq "$(json '[.telemetry.connections[] | select(.verdict == "allowed") | .tx_packets > 1 and .rx_packets > 1] | all')" true segments
assert_eq "$(json '[.telemetry.processes[] | select(.comm == "python3") | .tgid] as $p | [.telemetry.connections[] | select(.direction == "out") | .tgid == $p[0]] | all')" true "who asked"
assert_eq "$(json '.telemetry.counters.tcp_retransmits == ([.telemetry.connections[] | .retransmits] | add)')" true "segments sent again"
assert_eq "$(json .telemetry.complete)" true complete
assert_books

# One that is open when all is killed: its row, and no number that is not final is called so.
run -q --net loopback --ro "$tmp/talk.py:/talk.py" -- python3 -c 'import os, socket
l = socket.socket()
l.bind(("127.0.0.1", 0))
l.listen()
c = socket.create_connection(l.getsockname())
o = l.accept()[0]
c.sendall(b"z" * 1000)
o.recv(1000, socket.MSG_WAITALL)
os.kill(os.getpid(), 9)'
assert_eq "$(json '[.telemetry.connections[] | [.direction, .tx_bytes]] | sort | tostring')" '[["in",0],["out",1000]]' "when killed"

need_file "$MENACE"
run_plain "$MENACE" query --json --store "$tmp/store.db" \
	"SELECT group_concat(direction || ' ' || coalesce(tx_bytes, '-'), ', ') AS v FROM (SELECT * FROM connections ORDER BY n)"
assert_status 0
assert_match "$stdout" '"(in 77, out 5000000|out 5000000, in 77), (in 77, out 5000000|out 5000000, in 77), out -"' "connections in the store"
