#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# A partition spares the program's own resolver, and nobody who has taken its address: whatever a packet says
# that it comes from, what is cut off is not reached
# security

. "${0%/*}/../../lib/outside.sh"
. "${0%/*}/../../lib/system.sh"
need_system_program python3
start_outside

# Connects from each address; with "asks" it asks the far end for a name as well, which can be seen there, answered
# or not.
cat >"$tmp/from.py" <<'PY'
import concurrent.futures, socket, struct, sys

wait, asks, ip, host, *sources = sys.argv[1:]
family = socket.AF_INET6 if ip == "6" else socket.AF_INET
place = socket.getaddrinfo(host, 80, family, socket.SOCK_STREAM)[0][4]

def bind(s, source):
    # IPV6_FREEBIND, which takes no right: an address that no link has.
    if ip == "6": s.setsockopt(socket.IPPROTO_IPV6, 78, 1)
    if source: s.bind((source, 0))

def connects(source):
    with socket.socket(family) as s:
        s.settimeout(float(wait))
        bind(s, source)
        try: s.connect(place)
        except TimeoutError: return "silence"
        return "connected"

def ask(name, source):
    with socket.socket(family, socket.SOCK_DGRAM) as s:
        bind(s, source)
        name = b"".join(bytes([len(w)]) + w.encode() for w in name.split("."))
        s.sendto(struct.pack(">6H", 7, 0x100, 1, 0, 0, 0) + name + b"\0\0\1\0\1", (place[0], 53))

with concurrent.futures.ThreadPoolExecutor(len(sources)) as pool: # silence is waited for once
    for source, word in zip(sources, pool.map(connects, sources)): print(source or "-", word)
for i, source in enumerate(sources):
    if asks == "asks": ask("one-way-%d.example" % i, source)
# Still answered: the resolver, from wherever it is asked, and the sandbox itself.
print(socket.gethostbyname("localhost"), socket.getaddrinfo(host, 80, family)[0][4] == place)
a = socket.create_server(("127.0.0.1", 0))
socket.create_connection(a.getsockname(), 30).close()
print("own")
PY

# As long as whoever answers may take, and what is silence.
patience=$(scaled 20)
silence=$(awk "BEGIN { print $(scaled 150) / 1000 }")
four=("" 127.0.0.1 127.0.0.53 127.0.0.9)
six=("" 2001:db8::7 2001:db8::ffff:7f00:35 fd00::ffff:7f00:35)

# said WORD SOURCE...: what from.py prints when all of them meet that.
said()
{
	local word=$1 source

	shift
	for source; do
		echo "${source:--} $word"
	done
	printf '127.0.0.1 True\nown'
}

# What came to the far end without an answer.
one_way()
{
	json '[.denials.rows[] | select(.layer == "network") | .object | select(contains("one-way"))] | length'
}

# stub SECONDS OPTION...
stub()
{
	local wait=$1

	shift
	run -q -t "$(scaled 60)" --net stub --mock api.example=body:x --ro "$tmp/from.py:/from.py" "$@" -- \
		python3 /from.py "$wait" asks 4 api.example "${four[@]}"
	assert_status 0
}

# There every address is the sandbox's own to send from.
outside()
{
	allowed good.example -q --ro "$tmp/from.py:/from.py" "$@"
	assert_status 0
}

for way in "--net-fault partition@" "--set failure.modes=network_partition --set failure.intensity="; do
	off=1h.. on=0..
	[[ $way == *@ ]] || off=0 on=100
	# shellcheck disable=SC2086 # options
	stub "$patience" $way$off
	assert_eq "$stdout" "$(said connected "${four[@]}")" "stub, $way$off"
	assert_eq "$(one_way)" 4 "stub, $way$off"
	# shellcheck disable=SC2086
	stub "$silence" $way$on
	assert_eq "$stdout" "$(said silence "${four[@]}")" "stub, $way$on"
	assert_eq "$(one_way)" 0 "stub, $way$on"

	for host in 4 6; do
		sources=("${four[@]}" 203.0.113.77)
		[ $host = 4 ] || sources=("${six[@]}")
		reach=(- "$host" good.example "${sources[@]}")
		# shellcheck disable=SC2086
		outside $way$off -- python3 /from.py "$patience" "${reach[@]}"
		assert_eq "$stdout" "$(said connected "${sources[@]}")" "allowlist, IPv$host, $way$off"
		# shellcheck disable=SC2086
		outside $way$on -- python3 /from.py "$silence" "${reach[@]}"
		assert_eq "$stdout" "$(said silence "${sources[@]}")" "allowlist, IPv$host, $way$on"
	done
done
