#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Sockets, connections, addresses and datagrams, by IPv4 and IPv6, with packets where
# they are asked for; without network the hooks are not attached, and say so
#
# kernel

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/telemetry.sh"

need_telemetry
need_system_program python3
cat >"$tmp/talk.py" <<'PY'
import socket
listener = socket.socket()
listener.bind(("127.0.0.1", 0))
listener.listen()
port = listener.getsockname()[1]
client = socket.create_connection(("127.0.0.1", port))
client.sendall(b"x" * 1000)
other = listener.accept()[0]
assert len(other.recv(1000, socket.MSG_WAITALL)) == 1000
u = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
u.sendto(b"four", ("127.0.0.1", 5353))
try:
    six = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
    six.sendto(b"six", ("::1", 5354))
except OSError as e:
    print(e)
print(port)
PY
run -q --net loopback --telemetry default,+packets,+packets_out --ro "$tmp/talk.py:/talk.py" -- python3 /talk.py
assert_status 0
port=$(tail -n 1 "$tmp/stdout")
assert_ge "$(json .telemetry.counters.sockets)" 3 sockets
assert_eq "$(json .telemetry.counters.connects)" 1 connects
assert_eq "$(json .telemetry.counters.binds)" 1 binds
assert_eq "$(json '[.telemetry.events[] | select(.type == "connect") | .object] | tostring')" \
	"[\"127.0.0.1:$port\"]" "addresses connected to"
assert_eq "$(json '[.telemetry.events[] | select(.type == "sendmsg") | .object][0]')" 127.0.0.1:5353
assert_ge "$(json .telemetry.counters.packets_out)" 5 packets
assert_ge "$(json .telemetry.counters.packet_bytes_out)" 1000 bytes
assert_eq "$(json .telemetry.complete)" true complete
assert_books

run -q -- true
assert_eq "$(json '.telemetry.counters | [.sockets, .connects, .packets_in] | tostring')" "[null,null,null]"
assert_eq "$(json '.telemetry.probes[] | select(.name == "connect") | [.state, .errno] | tostring')" '["off",null]'
