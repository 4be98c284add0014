#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# How long TCP connections took to come to be, and their smoothed round trips, are distributions that
# lose nothing: nothing is sooner than the link's delay, and they are whole where connections are not listed

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

# Every packet takes 20 ms, so both take 40, or more: from 2^15 us on.
talk --set net.latency_ms=20 -- python3 /connect.py 4
assert_status 0
assert_eq "$(json '[.telemetry.histograms[] | select(.name == "connect" or .name == "srtt") | .buckets[] | select(.bucket < 15)] | length')" 0 \
	"what is sooner than the delay"
assert_eq "$(sum connect) $(sum srtt)" "5 10" "connects and round trips"
assert_eq "$(counted)" '[5,0,1,0]' "connections"
id=$(json .run_id)
told=$(json '[.telemetry.histograms[] | select(.name == "connect" or .name == "srtt") | .name as $n | .unit as $u
	| .buckets[] | "\($n) \($u) \(.bucket) \(.count)"] | sort | join(", ")')

# There are more of them than rows.
talk -- python3 /connect.py 1500
assert_status 0
assert_eq "$(json '.telemetry.books.connections_not_listed > 0')" true "some are not listed"
assert_eq "$(sum connect)" 1501 "connects that are timed"
assert_eq "$(sum srtt)" 3002 "round trips"
assert_eq "$(counted)" '[1501,0,1,0]' "connections"

# None is an empty distribution, and where nobody looks there is none.
run -q --net loopback -- true
assert_eq "$(buckets connect) $(buckets srtt)" '["us"] ["us"]' "without a connection"
run -q --net none -- true
assert_eq "$(buckets connect) $(buckets srtt) $(counted)" '[] [] [null,null,null,null]' "without network"
run -q --net loopback --telemetry default,-tcp -- true
assert_eq "$(buckets connect) $(counted)" '[] [null,null,null,null]' "switched off"

run_plain "$MENACE" query --store "$tmp/store.db" \
	"SELECT group_concat(name || ' ' || unit || ' ' || bucket || ' ' || count, ', ') FROM (SELECT * FROM histograms WHERE run_id = '$id' AND name IN ('connect', 'srtt') ORDER BY name, bucket)"
assert_eq "$(tail -n 1 <<<"$stdout")" "$told" "in the store"
