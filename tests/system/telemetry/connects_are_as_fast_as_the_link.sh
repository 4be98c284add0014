#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Connects and round trips are in the distributions where the delay of the link puts them, not later
#
# lane: soak (bounds times of packets)

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/limits.sh"
. "$repo/tests/lib/link.sh"
. "$repo/tests/lib/telemetry.sh"

need_telemetry
need_link
need_system_program python3
need_file "$MENACE"
cat >"$tmp/connect.py" <<'PY'
import socket, sys
listener = socket.socket()
listener.bind(("127.0.0.1", 0))
listener.listen()
for i in range(int(sys.argv[1])):
    client = socket.create_connection(listener.getsockname())
    other = listener.accept()[0]
    client.close()
    assert other.recv(1) == b""
    other.close()
refused = socket.socket()
try:
    refused.connect(("127.0.0.1", 9))
except ConnectionRefusedError:
    pass
# One that the program's end cuts off, with what it was sent left unread.
client = socket.create_connection(listener.getsockname())
other = listener.accept()[0]
other.sendall(b"x")
PY
talk() { run -q --net loopback -t "$(scaled 60)" --store "$tmp/store.db" --ro "$tmp/connect.py:/connect.py" "$@"; }
buckets() { json "[.telemetry.histograms[] | select(.name == \"$1\") | .unit, (.buckets[] | .bucket, .count)] | tostring"; }
sum() { json "[.telemetry.histograms[] | select(.name == \"$1\") | .buckets[].count] | add"; }
counted() { json '.telemetry.counters | [.tcp_connected, .tcp_untimed, .tcp_failed, .tcp_unmeasured] | tostring'; }

# Every packet takes 20 ms, so both take 40: from 2^15 us to below 2^16; on a busy machine one takes longer, and none less.
delayed()
{
	talk --set net.latency_ms=20 -- python3 /connect.py 4
	assert_status 0
	assert_eq "$(json '[.telemetry.histograms[] | select(.name == "connect" or .name == "srtt") | .buckets[] | select(.bucket < 15)] | length')" 0 \
		"what is sooner than the delay"
	assert_eq "$(sum connect) $(sum srtt)" "5 10" "connects and round trips"
	assert_eq "$(counted)" '[5,0,1,0]' "connections"
	[ "$(buckets connect) $(buckets srtt)" = '["us",15,5] ["us",15,10]' ]
}
patiently delayed || fail "times of connects $(buckets connect), round trips of both ends $(buckets srtt)"

# Without delay they are short, and there are more of them than rows.
undelayed()
{
	talk -- python3 /connect.py 3000
	assert_status 0
	assert_eq "$(json '.telemetry.books.connections_not_listed > 0')" true "some are not listed"
	assert_eq "$(sum connect)" 3001 "connects that are timed"
	assert_eq "$(sum srtt)" 6002 "round trips"
	assert_eq "$(counted)" '[3001,0,1,0]' "connections"
	[ "$(json '[.telemetry.histograms[] | select(.name == "connect") | .buckets[] | select(.bucket < 13) | .count] | 3001 - add')" -le 60 ]
}
patiently undelayed || fail "too many connects that took 8 ms: $(buckets connect)"
