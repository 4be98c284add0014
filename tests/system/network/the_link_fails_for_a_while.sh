#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# --net-fault: packets are lost, connections refused and names not resolved from the time on that was said
# to the time that was said, counted from the first instruction, and what was met is in the result

. "${0%/*}/../../lib/system.sh"

need_root
need_system_program python3

# fault INDEX EXPRESSION: of that fault of the result.
fault()
{
	json ".receipt.network.faults[$1]$2"
}

# Tries each target again and again: "TARGET WORD" a line.  A server of its own address is made first, and
# a connection that is open from before the faults is used to the end.
cat >"$tmp/try.py" <<'PY'
import os, socket, sys, time

fault, seconds, wait, again = map(float, sys.argv[1:5])
targets = sys.argv[5:]
# The start of this process, which is about that of the run: an interpreter may take its time.
begin = int(open("/proc/self/stat").read().rsplit(")")[1].split()[19]) / os.sysconf("SC_CLK_TCK")
own = [t for t in targets if not t.endswith(".example")]
servers = [socket.create_server((t, 7000), family=socket.AF_INET6 if ":" in t else socket.AF_INET,
	backlog=4096) for t in own] # nobody accepts

def ask(host):
    try:
        address = socket.getaddrinfo(host, 7000 if host in own else 80, type=socket.SOCK_STREAM)[0][4]
        with socket.create_connection(address[:2], wait) as s:
            if host in own: return "answer"
            s.sendall(b"GET / HTTP/1.0\r\n\r\n")
            return "answer" if s.makefile("rb").read().endswith(b"ok") else "nothing"
    except socket.gaierror as e: return "unnamed" if e.errno == socket.EAI_AGAIN else str(e)
    except TimeoutError: return "silence"
    except ConnectionRefusedError: return "refused"

def now(): return time.clock_gettime(time.CLOCK_BOOTTIME) - begin

try: kept = socket.create_connection((own[0], 7000)) if own else None
except ConnectionRefusedError: sys.exit("late")
first = [(t, ask(t)) for t in targets]
if now() >= fault: sys.exit("late")
for t, word in first: print(t, word)
while now() < seconds:
    for t in targets: print(t, ask(t))
    if kept: kept.sendall(b"x")
    time.sleep(again)
if kept: print("kept", servers[0].accept()[0].recv(9)[:1].decode())
PY

ms()
{
	scaled $(($1 * slower))
}

seconds_of()
{
	awk "BEGIN { print $1 / 1000 }"
}

# in_a_window COMMAND WORDS TARGET...: the command makes a run with faults from $from to $to ms, and the targets
# meet these words.  A machine so busy that nothing was asked before the faults began, or that an answer took longer
# than silence is waited for, gets more time for everything.
in_a_window()
{
	local command=$1 expected=$2 met slower target

	shift 2
	for slower in 1 3 9 9; do
		from=$(ms 600) to=$(ms 1000)
		window="@${from}ms..${to}ms"
		try=(python3 /try.py "$(seconds_of "$from")" "$(seconds_of "$(ms 1300)")" "$(seconds_of "$(ms 150)")"
			"$(seconds_of "$(ms 50)")")
		"$command"
		[ "$stderr" != late ] || continue
		assert_status 0
		met=$(for target; do words "$target"; done)
		[ "$met" != "$expected" ] || return 0
	done
	fail "the words are '$met'"
}

# words TARGET: what became of its tries, without repetitions.
words()
{
	sed -n "s/^$1 //p" "$tmp/stdout" | uniq | tr '\n' ' '
}

# in_time INDEX BY: what it met says that it was in force in its time and at no other.
in_time()
{
	assert_eq "$(fault "$1" .state) $(fault "$1" .why) $(fault "$1" .applied.by)" "taken null $2" "$1"
	assert_eq "$(fault "$1" '.measured | .last_before_ms < '"$from"' and .first_taken_ms >= '"$from"'
		and .last_taken_ms < '"$to"' and .first_after_ms >= '"$to"'
		and .before > 0 and .after > 0 and .within == .taken and .taken > 0')" true "$(fault "$1" .measured)"
	assert_eq "$(fault "$1" '.applied | [.from_ms, .to_ms] | join(" ")')" "$from $to"
	assert_eq "$(fault "$1" '.requested | [.from_ms, .to_ms] | join(" ")')" "$from $to"
}

names()
{
	run -q -t "$(scaled 60)" --ro "$tmp/try.py:/try.py" --net stub --mock a.example=body:ok --mock b.example=body:ok \
		--mock c.example=body:ok --mock d.example=body:ok --net-fault "partition:a.example$window" \
		--net-fault "refuse:*.b.example,b.example:80$window" --net-fault "dns_failure:c.example$window" \
		--net-fault "dns_failure:e.example$window" -- "${try[@]}" a.example b.example c.example d.example
}
in_a_window names "answer silence answer answer refused answer answer unnamed answer answer " \
	a.example b.example c.example d.example
in_time 0 tc-bpf
in_time 1 tc-bpf
in_time 2 resolver
assert_eq "$(fault 3 .state) $(fault 3 .measured.within) $(fault 3 .measured.first_taken_ms)" "no_opportunity 0 null"
assert_eq "$(json .receipt.degraded)" "[]"

addresses()
{
	run -q -t "$(scaled 60)" --ro "$tmp/try.py:/try.py" --net loopback --net-fault "refuse:127.0.0.2$window" \
		--net-fault "refuse:[::1]:7000$window" --net-fault "blackhole:127.0.0.3$window" -- \
		"${try[@]}" 127.0.0.2 ::1 127.0.0.3 127.0.0.4
}
in_a_window addresses "answer refused answer answer refused answer answer silence answer answer x " \
	127.0.0.2 ::1 127.0.0.3 127.0.0.4 kept
for i in 0 1 2; do
	in_time $i tc-bpf
done

# Of everybody: the resolver too, or not.  Of several that are in force the first takes it.
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
