#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# --net allowlist with --net-fault: an address that a name is given is cut off before the name is told,
# and no number of names makes room for one that is not
# security

. "${0%/*}/../../lib/outside.sh"
. "${0%/*}/../../lib/system.sh"
need_system_program python3
start_outside

fault()
{
	json ".receipt.network.faults[$1]$2"
}

cat >"$tmp/get.py" <<'PY'
import socket, sys

def get(host, port=80):
    try:
        with socket.create_connection((host, port), patience) as s:
            s.sendall(b"GET / HTTP/1.1\r\nHost: good.example\r\n\r\n")
            return s.makefile("rb").read().split(b"\r\n\r\n")[1].decode()
    except TimeoutError: return "silence"
    except ConnectionRefusedError: return "refused"
    except socket.gaierror as e: return "unnamed" if e.errno == socket.EAI_AGAIN else str(e)

# An address whose silence is awaited has "~" before it.
for place in sys.argv[3:]:
    patience = float(sys.argv[1 if place[0] == "~" else 2])
    place = place.lstrip("~")
    host, port = place.rsplit("/", 1)
    print(place, get(host, int(port)))
PY

wait=$(awk "BEGIN { print $(scaled 150) / 1000 }")
rules="good.example,other.example,203.0.113.16:8080,203.0.113.12:7000,*.wild.example,2001:db8::10"
allowed "$rules" -q --ro "$tmp/get.py:/get.py" --net-fault 'refuse:[2001:db8::/32]@0..' \
	--net-fault 'blackhole:203.0.113.16/30@0..' --net-fault refuse:good.example:80@0.. \
	--net-fault 'dns_failure:*.wild.example,other.example@0..1h' -- \
	python3 /get.py "$wait" "$(scaled 20)" good.example/80 ~203.0.113.16/8080 2001:db8::10/80 x.wild.example/80 other.example/80 \
	no.example/80
assert_status 0
assert_eq "$stdout" "good.example/80 refused
203.0.113.16/8080 silence
2001:db8::10/80 refused
x.wild.example/80 unnamed
other.example/80 unnamed
no.example/80 [Errno -2] Name or service not known"
assert_eq "$(json '[.receipt.network.faults[] | .state, .applied.by] | join(" ")')" \
	"taken tc-bpf taken tc-bpf taken tc-bpf taken resolver"
assert_ge "$(fault 2 .measured.taken)" 1
# What is not allowed is denied as ever, and nothing else is.
assert_eq "$(denied | uniq)" "resolve no.example net.allow"
assert_eq "$(grep -v '^dns good.example' "$outside_log")" "" "what came out"

# A name's other ports are its own.
allowed "$rules" -q --ro "$tmp/get.py:/get.py" --net-fault refuse:good.example:81@0.. -- \
	python3 /get.py 0 "$(scaled 20)" good.example/80
assert_eq "$stdout" "good.example/80 host good.example"
assert_eq "$(fault 0 .state)" no_opportunity
