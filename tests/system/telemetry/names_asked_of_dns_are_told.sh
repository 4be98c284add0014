#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Queries by UDP and TCP, also in pieces and several at once, with their names and types;
# what is no query, or makes no sense, is counted and breaks nothing

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/telemetry.sh"

need_telemetry
need_system_program python3
cat >"$tmp/ask.py" <<'PY'
import socket, struct, sys, threading
ADDRESS = ("127.0.0.1", 53)

def label(*labels):
    return b"".join(bytes([len(x)]) + x for x in labels) + b"\0"

def message(name, kind=1, flags=0x0100, questions=1):
    return struct.pack("!6H", 7, flags, questions, 0, 0, 0) + name + struct.pack("!2H", kind, 1)

def answer(query):
    return query[:2] + b"\x81\x83" + query[4:12] + query[12:]

def serve_udp(s):
    while True:
        query, who = s.recvfrom(4096)
        if len(query) > 12:
            s.sendto(answer(query), who)

def serve_tcp(s):
    while True:
        c = s.accept()[0]
        threading.Thread(target=drain, args=(c,), daemon=True).start()

def drain(c):
    while c.recv(65536):
        pass
    c.close()

u = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
u.bind(ADDRESS)
t = socket.socket()
t.bind(ADDRESS)
t.listen()
threading.Thread(target=serve_udp, args=(u,), daemon=True).start()
threading.Thread(target=serve_tcp, args=(t,), daemon=True).start()

def ask(data, address=ADDRESS, family=socket.AF_INET):
    with socket.socket(family, socket.SOCK_DGRAM) as s:
        s.sendto(data, address)

def ask_connected(data):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        s.connect(ADDRESS)
        s.send(data)
        s.recv(4096)

def ask_tcp(*pieces):
    with socket.create_connection(ADDRESS) as s:
        s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for piece in pieces:
            s.sendall(piece)
        s.shutdown(socket.SHUT_WR)
        s.recv(1)

def framed(data):
    return struct.pack("!H", len(data)) + data

exec(sys.argv[1])
PY
# As root with capabilities: the port of the server is one of those that need them.
ask() { run -q --net loopback --level 1 --unsafe --uid 0 --gid 0 -t "$(scaled 30)" --ro "$tmp/ask.py:/ask.py" "${options[@]}" -- python3 /ask.py "$1"; }
names() { json '[.telemetry.dns[] | [.name, .type, .transport]] | tostring'; }
counts() { json '.telemetry.counters | [.dns_queries, .dns_unread] | tostring'; }
options=(--telemetry default)

ask 'ask_connected(message(label(b"www", b"example", b"test")))
ask(message(label(b"www", b"example", b"test"), 28))
ask(message(label(), 2))
ask(message(label(b"x"), 12345))
ask_tcp(framed(message(label(b"tcp", b"example"), 65)))'
assert_status 0
assert_eq "$(names)" '[["www.example.test","A","udp"],["www.example.test","AAAA","udp"],[".","NS","udp"],["x","TYPE12345","udp"],["tcp.example","HTTPS","tcp"]]' names
assert_eq "$(counts)" "[5,0]" "queries"
assert_eq "$(json '[.telemetry.dns[] | .server, .questions, .malformed] | unique | tostring')" '[0,1,"127.0.0.1"]'
# A datagram is sent by whoever asks, a segment by whoever runs.
assert_eq "$(json '[.telemetry.processes[] | select(.comm == "python3") | .tgid] as $p | [.telemetry.dns[] | .tgid == $p[0]] | tostring')" \
	"[true,true,true,true,false]" "processes that ask"
assert_eq "$(json '[.telemetry.dns[].boot_ns] | . == sort')" true "order of time"
assert_eq "$(json .telemetry.complete)" true complete
assert_books

# In pieces: the length apart, the length in two, several in one segment, more than are followed.
ask 'q = lambda n: framed(message(label(n)))
a = q(b"apart")
ask_tcp(a[:2], a[2:])
a = q(b"two")
ask_tcp(a[:1], a[1:])
ask_tcp(q(b"one") + q(b"two") + q(b"three"))
ask_tcp(q(b"many") * 6)
a = q(b"cut")
ask_tcp(a[:20], a[20:] + q(b"after"))
ask_tcp(framed(b""), q(b"empty"))'
assert_status 0
assert_eq "$(json '[.telemetry.dns[].name] | tostring')" \
	'["apart","two","one","two","three","many","many","many","many","after","empty"]' "names in pieces"
# Of the six one that is not read for all that follow, and the one that was cut.
assert_eq "$(counts)" "[11,2]" "queries in pieces"

# What makes no sense.
ask 'ask(b"")
ask(b"x" * 11)
ask(message(label(b"answer"), flags=0x8180))
ask(message(b"\xc0\x0c"))
ask(message(bytes([64]) + b"a" * 64 + b"\0"))
ask(message(label(*[b"b" * 63] * 4)))
ask(message(label(b"no", b"end"))[:-5])
ask(message(label(b"dot.in", b"back\\slash", b"\x1b[31m\0\xff \"")))
ask(message(label(b"none"), questions=0))
ask(message(label(b"large")) + b"z" * 8000)
ask(message(label(*[b"m" * 63] * 3, b"n" * 61)))'
assert_status 0
assert_eq "$(counts)" "[8,3]" "what makes no sense"
assert_eq "$(json '[.telemetry.dns[] | .malformed] | tostring')" "[1,1,1,1,0,1,0,0]" malformed
assert_eq "$(json '[.telemetry.dns[3,4,5,6].name] | tostring')" \
	'["no.end","dot\\.in.back\\\\slash.\\027[31m\\000\\255\\032\"","none","large"]' "names that are odd"
assert_eq "$(json '[.telemetry.dns[0,1,2].name | length] | tostring')" "[0,0,191]" "what could be read"
assert_eq "$(json '.telemetry.dns[7].name | length')" 253 "the longest name"
assert_eq "$(json .telemetry.complete)" true complete
assert_books

# More than is kept, and what is switched off.
ask 'for i in range(600): ask(message(label(b"n%d" % i)))'
assert_eq "$(counts)" "[600,0]" queries
assert_eq "$(json '(.telemetry.dns | length) as $kept
	| ([.telemetry.losses[] | select(.type == "dns") | .count] | add // 0) as $lost
	| [$kept + .telemetry.books.names_not_listed + $lost, $kept == ([512, 600 - $lost] | min)]
	| tostring')" "[600,true]" "names kept, and not"
options=(--telemetry "full,-dns")
ask 'ask(message(label(b"x")))'
assert_eq "$(json '[.telemetry.dns, .telemetry.counters.dns_queries] | tostring')" "[null,null]" "without the probe"
run -q --telemetry full -- true
assert_eq "$(json '[.telemetry.dns, .telemetry.counters.dns_queries] | tostring')" "[null,null]" "without network"

# In the store.
need_file "$MENACE"
"$MENACE_RUN" -q --net loopback --store "$tmp/store.db" --ro "$tmp/ask.py:/ask.py" -- python3 -c '
import socket
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
for i in range(3):
    s.sendto(b"\0\7\1\0\0\1\0\0\0\0\0\0\5\x1b[31m\3org\0\0\x1c\0\1", ("127.0.0.1", 53))' || fail "the run"
id=$("$MENACE" query --json --store "$tmp/store.db" 'SELECT run_id AS id FROM runs' | gojq -r '.. | .id? // empty')
run_plain "$MENACE" show --store "$tmp/store.db" "$id"
assert_contains "$stdout" '3x AAAA   \027[31m.org  (udp 127.0.0.1)' "names shown"
run_plain "$MENACE" audit verify --store "$tmp/store.db"
assert_status 0
