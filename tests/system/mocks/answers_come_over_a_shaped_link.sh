#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Conditions of the link hold for canned answers, too: a body of 100,000 bytes at 1 Mbit/s takes 0.8
# seconds and its headers' part more, and the result has both

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/mocks.sh"

need_root
need_system_program python3
head -c 100000 /dev/zero >"$tmp/body"
cat >"$tmp/client.py" <<'PY'
import time, urllib.request
began = time.monotonic()
print(len(urllib.request.urlopen("http://api.example/x").read()))
print(int(1000 * (time.monotonic() - began)))
PY
stub --set net.rate=1mbit --mock "api.example=@$tmp/body" --ro "$tmp/client.py:/client.py" -- python3 /client.py
assert_status 0
assert_eq "$(head -n 1 "$tmp/stdout")" 100000 "bytes of the body"
assert_ge "$(tail -n 1 "$tmp/stdout")" 700 "milliseconds"
assert_eq "$(json '.receipt.network.shaping | [.state, .applied.rate] | tojson')" '["enforced",1000000]'
assert_eq "$(mock api.example hits)" 1 hits
assert_ge "$(json .receipt.network.shaping.measured.queue.bytes)" 100000 "bytes that passed the queue"
