#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Of every R requests F fail, at positions that the seed decides and that come again; each
# kind of failure is what it says, over TLS, too; and the first byte is as late as asked

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/mocks.sh"

need_system_program python3

ask_50='
import urllib.error, urllib.request
for i in range(50):
    try:
        print(urllib.request.urlopen("http://api.example/").status // 100, end="")
    except urllib.error.HTTPError as e:
        print(e.code // 100, end="")'

for seed in 1 1 2; do
	stub --mock 'api.example=fail:503:3/10,body:ok' --set net.mock_seed=$seed -- python3 -c "$ask_50"
	assert_status 0
	patterns+=("$stdout")
	for at in 0 10 20 30 40; do
		part=${stdout:at:10}
		part=${part//2/}
		assert_eq "$part" 555 "failures of requests $at to $((at + 9)) with seed $seed"
	done
	assert_eq "$(mock api.example hits) $(mock api.example failures)" "50 15" "hits and failures"
	assert_eq "$(json .receipt.network.stub.seed)" "$seed" "seed"
done
assert_eq "${patterns[1]}" "${patterns[0]}" "the same seed"
assert_ne "${patterns[2]}" "${patterns[0]}" "another seed"
# The seed of the run counts where the mocks have none of their own.
stub --mock 'api.example=fail:503:3/10,body:ok' --set net.seed=2 -- python3 -c "$ask_50"
assert_eq "$stdout" "${patterns[2]}" "the run's seed"

head -c 300000 /dev/zero | tr '\0' x >"$tmp/large"
stub --mock "https://a.example/cut=@$tmp/large,truncate" --mock "https://a.example/flip=@$tmp/large,flip" \
	--mock 'https://a.example/auth=auth' --mock 'https://a.example/reset=reset' \
	--mock 'https://a.example/never=timeout' -- python3 -c '
import http.client
def ask(path, timeout=None):
    c = http.client.HTTPSConnection("a.example")
    try:
        c.connect()
        c.sock.settimeout(timeout)
        c.request("GET", path)
        r = c.getresponse()
        body = r.read()
        return r.status, len(body), sum(bin(b ^ ord("x")).count("1") for b in body), r.getheader("WWW-Authenticate")
    except http.client.IncompleteRead as e:
        return "cut", len(e.partial), e.expected
    except OSError as e:
        return "reset" if isinstance(e, ConnectionResetError) else "timeout" if isinstance(e, TimeoutError) else repr(e)
for path in "/cut", "/flip", "/auth", "/reset":
    print(ask(path))
print(ask("/never", 0.5))'
assert_status 0
assert_eq "$stdout" "('cut', 150000, 150000)
(200, 300000, 1, None)
(401, 0, 0, 'Basic realm=\"mock\"')
reset
timeout"
assert_eq "$(json '[.network.mocks[] | .failures] | @json')" "[1,1,1,1,1]" "failures"
assert_eq "$(mock https://a.example/cut body_bytes)" 150000 "bytes"

time_one='
import time, urllib.request
then = time.monotonic()
urllib.request.urlopen("http://api.example/").read()
print(int((time.monotonic() - then) * 1000))'
stub --preset '{"API_LATENCY_MS": 300}' --mock 'api.example=body:ok' -- python3 -c "$time_one"
assert_status 0
assert_ge "$stdout" 300 "milliseconds to the answer"
assert_eq "$(json .receipt.network.stub.first_byte_delay_ms)" 300
# A mock that says 0 is not kept waiting: for this run's time would be over long before.
stub --preset '{"API_LATENCY_MS": 600000}' --mock 'api.example=delay:0,body:ok' -- python3 -c "$time_one"
assert_status 0
