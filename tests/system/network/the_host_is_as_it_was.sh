#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Links, queues, addresses, routes, rules, tables of filters, network settings of the host and
# programs in its kernel are the same before, during and after a shaped run, and after the
# supervisor was killed in the middle of one, and its own loopback loses nothing and has no queue that could
# delay; nothing of the sandbox is left then
# kernel
# security

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/limits.sh"
. "$repo/tests/lib/link.sh"

with_own_network
need_link
need_program ip tc
need_system_program python3
check_leaks

# What the kernel counts changes by itself: addresses that age, entries in use.
picture()
{
	ip -o link
	tc qdisc show
	tc filter show dev lo ingress
	ip -o addr
	ip route show table all
	ip rule
	! command -v nft >/dev/null || nft list ruleset
	find /proc/sys/net -type f -readable ! -name '*random*' ! -name 'nf_conntrack_*' -print0 |
		sort -z | xargs -0 grep -a -H . 2>/dev/null
}

# How many of 300 datagrams come back on the host's own loopback.
cat >"$tmp/loopback.py" <<'PY'
import socket

a, b = (socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in "ab")
for s in a, b:
    s.bind(("127.0.0.1", 0))
    s.settimeout(20)
for n in range(300):
    a.sendto(b"%d" % n, b.getsockname())
    text, peer = b.recvfrom(100)
    b.sendto(text, peer)
    a.recv(100)
print(n + 1)
PY

# same WHEN
same()
{
	assert_eq "$(/usr/bin/python3 "$tmp/loopback.py")" 300 "datagrams that came back on the host's loopback $1"
	picture >"$tmp/picture"
	diff "$tmp/before" "$tmp/picture" >"$tmp/difference" ||
		fail "the host is different $1: $(head -c 1000 "$tmp/difference")"
}

run --net loopback --set net.loss_percent=1 -- true # what is made once is there from here on
picture >"$tmp/before"

mkfifo "$tmp/fifo"
start_run()
{
	"$MENACE_RUN" --net loopback --set net.loss_percent=50 --set net.rate=100kbit -- \
		sh -c 'echo ready; exec sleep 1000' >"$tmp/fifo" 2>"$tmp/run.err" &
	pid=$!
	exec 5<"$tmp/fifo"
	read -r -t "$(scaled 20)" word <&5 || fail "it does not start: $(cat "$tmp/run.err")"
	assert_eq "$word" ready
}

start_run
same "during a run"
kill -TERM $pid
wait $pid
same "after a run"

for _ in 1 2; do
	start_run
	kill -KILL $pid
	wait $pid 2>/dev/null
done
exec 5<&-
run -- true # the next start sweeps what a killed one left
same "after the supervisor was killed"
