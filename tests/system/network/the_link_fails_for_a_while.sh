#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# --net-fault: packets are lost, connections refused and names not resolved from the time on that was said
# to the time that was said, counted from the first instruction, and what was met is in the result

. "$(dirname "$0")/../../lib/system.sh"

need_root
need_system_program python3

# fault INDEX EXPRESSION: of that fault of the result.
fault()
{
	json ".receipt.network.faults[$1]$2"
}

# What becomes of try after try, as "TIME WORD" a line; a fault from FROM to TO must show in the words
# and be proved by the times.
cat >"$tmp/try.py" <<'PY'
import socket, sys, time

host, port, seconds, wait, again = sys.argv[1], int(sys.argv[2]), *map(float, sys.argv[3:6])
begin = time.clock_gettime(time.CLOCK_MONOTONIC)
server = None
if host in ("127.0.0.2", "::1"):
    server = socket.create_server((host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET)
while (now := time.clock_gettime(time.CLOCK_MONOTONIC) - begin) < seconds:
    try:
        address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][4]
        s = socket.create_connection(address[:2], wait)
        word = "open"
        if not server:
            s.settimeout(wait)
            s.sendall(b"GET / HTTP/1.0\r\n\r\n")
            word = "answer" if s.makefile("rb").read().endswith(b"ok") else "nothing"
        s.close()
    except socket.gaierror as e: word = "unnamed" if e.errno == socket.EAI_AGAIN else str(e)
    except TimeoutError: word = "silence"
    except ConnectionRefusedError: word = "refused"
    print(word)
    time.sleep(again)
PY

window=$(scaled 400)
from=$(scaled 500)
to=$((from + window))
length=$(awk "BEGIN { print ($to + $(scaled 400)) / 1000 }")
wait=$(awk "BEGIN { print $(scaled 60) / 1000 }")
again=$(awk "BEGIN { print $(scaled 20) / 1000 }")

# try FAULT HOST PORT [OPTIONS]: words without repetition in $words.
try()
{
	local fault=$1 host=$2 port=$3

	shift 3
	run -t "$(scaled 30)" --ro "$tmp/try.py:/try.py" --net-fault "$fault@${from}ms..${to}ms" "$@" \
		-- python3 /try.py "$host" "$port" "$length" "$wait" "$again"
	assert_status 0
	words=$(uniq <"$tmp/stdout" | tr '\n' ' ')
}

# in_time: what was met says that it was in force in its time and at no other.
in_time()
{
	assert_eq "$(fault 0 .state) $(fault 0 .why)" "taken null"
	assert_eq "$(fault 0 '.measured | .last_before_ms < '"$from"' and .first_taken_ms >= '"$from"'
		and .last_taken_ms < '"$to"' and .first_after_ms >= '"$to"'
		and .before > 0 and .after > 0 and .within == .taken and .taken > 0')" true "$(fault 0 .measured)"
	assert_eq "$(fault 0 '.applied | [.from_ms, .to_ms] | join(" ")')" "$from $to"
	assert_eq "$(fault 0 '.requested | [.from_ms, .to_ms] | join(" ")')" "$from $to"
	assert_eq "$(json .receipt.degraded)" "[]"
}

mock=(--net stub --mock "a.example=body:ok" --mock "b.example=body:ok")
while read -r fault host port expected by options; do
	# shellcheck disable=SC2086 # words
	case $options in
	stub) try "$fault" "$host" "$port" "${mock[@]}" ;;
	*) try "$fault" "$host" "$port" --net loopback ;;
	esac
	assert_eq "$words" "${expected//,/ } " "$fault of $host"
	assert_eq "$(fault 0 '.applied.by')" "$by"
	[ "$expected" = answer ] || [ "$expected" = open ] || in_time
done <<'CASES'
partition:a.example a.example 80 answer,silence,answer tc-bpf stub
refuse:*.example,a.example:80 a.example 80 answer,refused,answer tc-bpf stub
dns_failure:a.example a.example 80 answer,unnamed,answer resolver stub
blackhole:127.0.0.2 127.0.0.2 7000 open,silence,open tc-bpf loopback
refuse:[::1]:7000 ::1 7000 open,refused,open tc-bpf loopback
CASES

# Whatever is asked for everybody: the resolver too, or not; and what is nobody's is as it was.
try dns_failure:b.example a.example 80 "${mock[@]}"
assert_eq "$words" "answer "
assert_eq "$(fault 0 .state) $(fault 0 .measured.within) $(fault 0 .measured.first_taken_ms)" "no_opportunity 0 null"
run --net stub --mock a.example=body:ok --net-fault partition@0.. --net-fault refuse:a.example@0..1h \
	--net-fault blackhole:a.example@1h.. --net-fault dns_failure:b.example@0.. -- python3 -c '
import socket
a = socket.create_server(("127.0.0.1", 0))
socket.create_connection(a.getsockname(), 60).close()
print(socket.gethostbyname("a.example"))
s = socket.socket()
s.settimeout(0.05)
try: s.connect(("a.example", 80))
except TimeoutError: print("silence")'
assert_eq "$stdout" $'198.18.0.1\nsilence'
assert_eq "$(json '[.receipt.network.faults[].state] | join(" ")')" "taken taken_by_others not_reached no_opportunity"
assert_eq "$(fault 1 '.measured | .within > 0 and .taken == 0')" true
assert_eq "$(fault 2 '.measured | .before > 0 and .within == 0')" true
run --net stub --mock a.example=body:ok --net-fault blackhole@0.. -- python3 -c '
import socket
q = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
q.settimeout(0.05)
q.connect(("127.0.0.53", 53))
q.send(b"\0\1\1\0\0\1\0\0\0\0\0\0\1a\7example\0\0\1\0\1")
try: print(q.recv(512))
except TimeoutError: print("silence")'
assert_eq "$stdout" silence "the resolver"

# A connection that is open goes on while new ones are refused.
run -t "$(scaled 30)" --net loopback --net-fault "refuse@$(scaled 500)ms.." -- python3 -c '
import socket, sys, time
a = socket.create_server(("127.0.0.1", 7000))
s = socket.create_connection(("127.0.0.1", 7000))
t, _ = a.accept()
time.sleep(float(sys.argv[1]) / 1000)
s.sendall(b"still"); print(t.recv(9).decode())
try: socket.create_connection(("127.0.0.1", 7000))
except ConnectionRefusedError: print("refused")' "$(scaled 600)"
assert_eq "$stdout" $'still\nrefused'

# Beside conditions and failure modes of the same program each is counted for itself.
run --net loopback --net-fault blackhole@1h.. --set failure.modes=network --set failure.intensity=100 -- python3 -c '
import socket
a = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); a.bind(("127.0.0.1", 0)); a.settimeout(0.05)
for i in range(10): a.sendto(b"x", a.getsockname())
try: a.recv(9)
except TimeoutError: print("silence")'
assert_eq "$stdout" silence
assert_eq "$(json .failures[0].packets) $(fault 0 .measured.before) $(fault 0 .state)" "10 10 not_reached"
run --net loopback -- true
assert_eq "$(json .receipt.network.faults)" null
