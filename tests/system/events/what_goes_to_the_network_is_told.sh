#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Names asked for, connections and files written are events too, live and in the store; a name
# that was made to act on a terminal does not

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/store.sh"
. "$repo/tests/lib/telemetry.sh"
. "$repo/tests/lib/follow.sh"

need_telemetry
need_system_program python3
cat >"$tmp/net.py" <<'END'
import socket, sys
print("waiting", flush=True)
sys.stdin.readline()
query = b"\x12\x34\x01\x00\x00\x01\x00\x00\x00\x00\x00\x00\x03www\x07ex\x1bmple\x03org\x00\x00\x01\x00\x01"
udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
try:
    udp.sendto(query, ("127.0.0.1", 53))
except OSError:
    pass
server = socket.socket()
server.bind(("127.0.0.1", 4711))
server.listen()
client = socket.create_connection(("127.0.0.1", 4711))
accepted, _ = server.accept()
client.send(b"hello")
accepted.recv(5)
client.close()
accepted.close()
END
start_waiting net --net loopback --telemetry full --ro "$tmp/net.py:/net.py" -- python3 /net.py
follow "$id" "$tmp/followed"
go net
end_of "$supervisor"
assert_status 0
end_of "$follower"
assert_status 0
known()
{
	gojq -e --arg name "$1" '.telemetry.probes[] | select(.name == $name and .state == "attached")' "$tmp/net.json" >"$tmp/known"
}
menace events "$id" --json
cp "$tmp/stdout" "$tmp/stored"
for told in "$tmp/followed" "$tmp/stored"; do
	assert_eq "$(gojq -s -c '[.[] | select(.type == "connect" and .object == "127.0.0.1:4711") | .comm]' "$told")" \
		'["python3"]' "connect in $told"
	! known dns || assert_eq "$(gojq -s -c '[.[] | select(.type == "dns") | [.object, .detail.type, .detail.server]]' "$told")" \
		'[["www.ex\\027mple.org","A","127.0.0.1"]]' "names in $told"
	! known tcp || assert_ge "$(gojq -s '[.[] | select(.type == "tcp" and .object == "127.0.0.1:4711")] | length' "$told")" 1 \
		"connections in $told"
done
! known tcp || assert_eq "$(gojq -s -c '[.[] | select(.type == "tcp" and .object == "127.0.0.1:4711") | .detail.tx_bytes // 0] | max' \
	"$tmp/followed")" 5 "bytes sent"
menace events "$id" --type dns,tcp,attempt,open
assert_status 0
! grep -q -P '\x1b' "$tmp/stdout" || fail "a control character"
