#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# --net allowlist: connections, queries and silence have their limits, which are told, and a server of
# names that is not there is passed over
#
# security

. "${0%/*}/../../lib/outside.sh"
. "${0%/*}/../../lib/system.sh"
start_outside

# meanwhile NAME OPTION...: $tmp/NAME.py, which spends its time waiting; in the background.
meanwhile()
{
	exec "$MENACE_RUN" -q -o "$tmp/$1.json" --net allowlist --allow good.example -t "$(scaled 60)" "${@:2}" \
		--ro "$tmp/$1.py:/$1.py" -- python3 "/$1.py" >"$tmp/$1.out" 2>&1
}

# end_of NAME PID: its output and its result are those that are judged.
end_of()
{
	wait "$2"
	assert_eq $? 0 "status of $1"
	stdout=$(<"$tmp/$1.out")
	# shellcheck disable=SC2034 # of json
	result=$tmp/$1.json
}

# Who has to show a name and says nothing, or only a part, is refused after ten seconds; not before.
cat >"$tmp/silent.py" <<'PY'
import socket, time

address = socket.gethostbyname("good.example")
began = time.monotonic()
ones = [socket.create_connection((address, 443)) for _ in range(2)]
ones[1].sendall(b"\x16\x03\x01")
for s in ones:
    try:
        print("answered", s.recv(10))
    except ConnectionResetError:
        print("reset")
print("patient", time.monotonic() - began >= 9)
PY
meanwhile silent -s net.resolver=203.0.113.53 &
silent=$!

# 64 queries at once are asked outside, of a server that does not answer; the others get an error.
cat >"$tmp/flood.py" <<'PY'
import socket, struct

q = struct.pack(">HHHHHH", 1, 0x100, 1, 0, 0, 0) + b"\4good\7example\0\0\1\0\1"
ones = []
for _ in range(80):
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    s.connect(("127.0.0.53", 53))
    s.send(q)
    s.settimeout(60)
    ones.append(s)
print(*sorted(s.recv(512)[3] & 15 for s in ones))
PY
meanwhile flood -s net.resolver=203.0.113.1:7002 &
flood=$!

# The 257th connection at once is reset; when one is closed there is room again.
cat >"$tmp/many.py" <<'PY'
import socket, time

def reached():  # the reset may come before connect has returned
    try:
        s = socket.create_connection(("203.0.113.12", 25))
        return s if s.recv(3) == b"220" else None
    except ConnectionResetError:
        return None

open_ones = [reached() for _ in range(256)]
print("open", sum(s is not None for s in open_ones))
print("one more", reached() is not None)
open_ones.pop().close()
for _ in range(1000):
    again = reached()
    if again:
        break
    time.sleep(0.05)
print("after one closed", again is not None)
PY
allowed 203.0.113.12:25 --ro "$tmp/many.py:/many.py" -- python3 /many.py
assert_eq "$stdout" 'open 256
one more False
after one closed True'
assert_eq "$(json '.denials.rows[0] | "\(.what) \(.object) \(.rule) \(.errno.name)"')" 'connect 203.0.113.12:25 limit ECONNRESET'
assert_eq "$(json .network.allowlist.totals.open_max)" 256 'connections at once'
assert_ge "$(json .network.allowlist.denied.full)" 1 'refused ones'

# The first server refuses, the second answers.
run --net allowlist --allow good.example -s net.resolver=203.0.113.9:5353,203.0.113.53 -t "$(scaled 60)" -- \
	python3 -c 'import socket; print(socket.gethostbyname("good.example"))'
assert_eq "$stdout" 203.0.113.10

end_of silent "$silent"
assert_eq "$stdout" 'reset
reset
patient True'
# Whoever was looked for too late has a row of his own.
assert_eq "$(json '.denials.rows[] | "\(.what) \(.object) \(.rule)"' | uniq)" 'connect 203.0.113.10:443 limit'
assert_eq "$(json '[.denials.rows[].count] | add')" 2 'denials'
assert_eq "$(grep -c ^tls "$outside_log")" 0 'handshakes that came through'

end_of flood "$flood"
assert_eq "$stdout" "$(printf '2 %.0s' {1..79})2" "codes of the answers"
assert_eq "$(json '.network.allowlist.denied.queries_full')" 16 "queries too many"
assert_eq "$(json '.network.allowlist.totals | "\(.queries) \(.resolved)"')" "80 0"
