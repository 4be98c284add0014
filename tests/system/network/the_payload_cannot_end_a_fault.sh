#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Neither rights nor clocks nor packets of another form get the program round a fault, and one that finds no
# room for what it would have to cut off ends the run
# security

. "${0%/*}/../../lib/outside.sh"
. "${0%/*}/../../lib/system.sh"
need_system_program python3
need_program tc nsenter
start_outside

# Every way that a program has to take it away, or to make packets that look like nobody's: "done", or what it is
# refused with.  As root and without a cage, where this is the control, it lets the clock alone.
cat >"$tmp/rights.py" <<'PY'
import ctypes, errno, socket, struct, sys

libc = ctypes.CDLL(None, use_errno=True)

def attempt(name, call):
    try:
        call()
        print(name, "done")
    except OSError as e: print(name, errno.errorcode[e.errno])

def checked(r):
    if r < 0: raise OSError(ctypes.get_errno(), "")
    return r

def bpf(command, attr):
    attr = ctypes.create_string_buffer(attr, 120)
    return checked(libc.syscall(321, command, attr, 120))

def netlink():
    s = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0)
    # RTM_DELQDISC of lo's clsact.
    s.send(struct.pack("=IHHIIBBHiIII", 36, 37, 5, 1, 0, 0, 0, 0, 1, 0xffff0000, 0xfffffff1, 0))
    e = struct.unpack_from("=i", s.recv(100), 16)[0]
    if e: raise OSError(-e, "")

def option(family, level, name, value):
    socket.socket(family, socket.SOCK_DGRAM).setsockopt(level, name, value)

if sys.argv[1:] == ["control"]: # so that there are a map and a program to be found
    code = ctypes.create_string_buffer(struct.pack("=BBhiBBhi", 0xb7, 0, 0, 0, 0x95, 0, 0, 0), 16)
    license = ctypes.create_string_buffer(b"GPL")
    kept = (bpf(0, struct.pack("=IIII", 2, 4, 4, 1)),
            bpf(5, struct.pack("=IIQQ", 1, 2, ctypes.addressof(code), ctypes.addressof(license))))
else:
    attempt("clock", lambda: checked(libc.clock_settime(0, struct.pack("=qq", 1, 0))))
attempt("clsact", netlink)
attempt("maps", lambda: bpf(12, b""))
attempt("programs", lambda: bpf(11, b""))
attempt("raw", lambda: socket.socket(socket.AF_INET, socket.SOCK_RAW, 6))
attempt("packet", lambda: socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0))
attempt("mark", lambda: option(socket.AF_INET, socket.SOL_SOCKET, 36, 0x6d64726f))
attempt("hop-by-hop header", lambda: option(socket.AF_INET6, 41, 54, b"\0\0\1\4\0\0\0\0"))
attempt("destination header", lambda: option(socket.AF_INET6, 41, 59, b"\0\0\1\4\0\0\0\0"))
attempt("time namespace", lambda: checked(libc.unshare(0x80)))
attempt("network namespace", lambda: checked(libc.unshare(0x40000000)))
PY

# Packets of other forms: what gets through to 127.0.0.2:7000, [::1]:7000 and so on.
cat >"$tmp/forms.py" <<'PY'
import errno, socket, sys

wait, patience = float(sys.argv[1]), float(sys.argv[2])

def told(name, *calls):
    words = []
    for call in calls:
        try: words.append(call())
        except TimeoutError: words.append("silence")
        except OSError as e: words.append(errno.errorcode[e.errno])
    print(name, *words)

def talk(family, address, own=None, option=None, size=1, wait=wait):
    with socket.socket(family, socket.SOCK_DGRAM) as a, socket.socket(family, socket.SOCK_DGRAM) as b:
        a.bind((address, 7000))
        a.settimeout(wait)
        if own: b.bind((own, 0))
        if option: b.setsockopt(*option)
        b.sendto(b"x" * size, (address, 7000))
        return "through" if len(a.recv(65536)) == size else "cut short"

def over4(**how): return lambda: talk(socket.AF_INET, "127.0.0.2", **how)
def over6(**how): return lambda: talk(socket.AF_INET6, "::1", **how)

def connects(family, address, port, place):
    with socket.create_server((address, port)) as a, socket.socket(family) as s:
        s.settimeout(wait)
        s.connect(place)
        return "through"

def opens_fast(address, port):
    with socket.create_server((address, port)), socket.socket() as s:
        s.sendto(b"x", 0x20000000, (address, port))
        return "through"

if sys.argv[3:] == ["headers"]: # hop-by-hop, destination: they take a right
    told("headers", *(over6(option=(41, o, b"\0\0\1\4\0\0\0\0")) for o in (54, 59)))
    sys.exit()
told("plain", over4(), over6())
told("fragments", over4(size=60000), over6(size=60000))
told("options", over4(option=(0, 4, b"\1\1\1\0")))
told("from elsewhere", over4(own="127.9.9.9"))
told("mapped", lambda: connects(socket.AF_INET6, "127.0.0.2", 7001, ("::ffff:127.0.0.2", 7001)))
told("fast open", lambda: opens_fast("127.0.0.3", 7002))
told("others", lambda: talk(socket.AF_INET, "127.0.0.4", wait=patience))
PY

ways=(clsact maps programs raw packet mark "hop-by-hop header" "destination header" "time namespace" "network namespace")
assert_eq "$(unshare -n sh -c 'ip link set lo up && tc qdisc add dev lo clsact && exec python3 "$1" control' sh \
	"$tmp/rights.py" 2>&1)" "$(printf '%s done\n' "${ways[@]}")" "with all rights"
run -t "$(scaled 60)" --net loopback --ro "$tmp/rights.py:/rights.py" --net-fault blackhole@0.. -- python3 /rights.py
assert_status 0
assert_eq "$stdout" "$(printf '%s EPERM\n' clock "${ways[@]}" | sed 's/packet EPERM/packet EAFNOSUPPORT/')"

# How long is waited for what is cut off, and for what is not.
silence=$(awk "BEGIN { print $(scaled 150) / 1000 }")
patience=$(scaled 20)
# in_force WHEN: the faults that the forms are to get round, from then on.
in_force()
{
	faults=(--net-fault "blackhole:127.0.0.2:7000,[::1]:7000@$1" --net-fault "blackhole:127.0.0.2:7001@$1"
		--net-fault "refuse:127.0.0.3@$1")
}

# forms WHEN SECONDS: what is cut off then is waited for that long.
forms()
{
	in_force "$1"
	run -t "$(scaled 60)" --net loopback --ro "$tmp/forms.py:/forms.py" "${faults[@]}" -- \
		python3 /forms.py "$2" "$patience"
	assert_status 0
}

# The link is the same, the packets are as small, and the faults' time has not come.
forms 1h.. "$patience"
assert_eq "$stdout" "plain through through
fragments through through
options through
from elsewhere through
mapped through
fast open through
others through" "before it begins"
forms 0.. "$silence"
assert_eq "$stdout" "plain silence silence
fragments silence silence
options silence
from elsewhere silence
mapped silence
fast open ECONNREFUSED
others through" "while it is in force"
assert_eq "$(json '[.receipt.network.faults[].state] | join(" ")')" "taken taken taken"

# A packet with more headers is one of all ports.  Root on this side of the cage makes them on that link.
find_sleeper()
{
	sleeper=$(pgrep -x -f "sleep $sleep_s") && [ "$(readlink "/proc/$sleeper/ns/net")" != "$(readlink /proc/self/ns/net)" ]
}

# headers WHEN SECONDS, in its own words: what headers in the link of a run with these faults come to.
headers()
{
	local runner

	in_force "$1"
	sleep_s=$((100000 + $$))
	"$MENACE_RUN" -q --net loopback "${faults[@]}" -t "$(scaled 60)" -- sleep $sleep_s &
	runner=$!
	wait_until 20 find_sleeper || fail "the run did not start"
	nsenter -t "$sleeper" -n python3 "$tmp/forms.py" "$2" "$patience" headers
	kill "$runner"
	wait "$runner"
}
assert_eq "$(headers 1h.. "$patience")" "headers through through" "before it begins"
assert_eq "$(headers 0.. "$silence")" "headers silence silence" "while it is in force"

# More to cut off than there is room for: what could not be is not reached.
hosts=$(printf '*.wild.example:%d,' {1..16})
many=()
for _ in {1..9}; do
	many+=(--net-fault "blackhole:${hosts%,}@1h..")
done
reach=(python3 -c 'import socket; print(socket.gethostbyname("x.wild.example"))')
allowed '*.wild.example' -q "${many[@]:2}" -- "${reach[@]}"
assert_eq "$status $stdout" "0 203.0.113.12" "128 rules"
allowed '*.wild.example' -q "${many[@]}" -- "${reach[@]}"
assert_ne "$stdout" 203.0.113.12 "144 rules"
assert_status 125
assert_contains "$(json .error.message)" "no room for another address; accepted: at most 128 of all faults together"
allowed '*.wild.example' -q --best-effort net "${many[@]}" -- "${reach[@]}"
assert_eq "$status $stdout" "0 203.0.113.12"
# However many names it asks for, it is told, and the run goes on; once of all, and at each fault that is short.
reach=(python3 -c 'import socket; print({socket.gethostbyname("x%d.wild.example" % i) for i in range(40)})')
allowed '*.wild.example' -q --best-effort net "${many[@]}" -- "${reach[@]}"
assert_eq "$status $stdout" "0 {'203.0.113.12'}" "40 names without room"
no_room="fault 8 of the network: no room for another address; accepted: at most 128 of all faults together"
assert_eq "$(json '.receipt.degraded[] | "\(.item): \(.why)"')" "net: $no_room (\"faults\" says of which)"
assert_eq "$(json '[.receipt.network.faults[] | .why // "" | if . == "" then "-" else . end] | join(" ")')" \
	"- - - - - - - - $no_room"
