#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Most programs ask for a name with AI_ADDRCONFIG: for addresses of the families that this host has.  A
# mocked name has those of both, and what lo has beside its own addresses is no way and no source

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/mocks.sh"

need_file /proc/net/if_inet6
need_system_program getent python3

# first DATABASE NAME: the first address.
first()
{
	stub --mock a.example=body:x -- getent "$1" "$2"
	assert_status 0
	awk '{ print $1; exit }' <<<"$stdout"
}
assert_eq "$(first ahostsv4 a.example)" 198.18.0.1 "IPv4"
assert_eq "$(first ahostsv6 a.example)" 2001:2::1 "IPv6"

cat >"$tmp/ask.py" <<'PY'
import errno, socket

for family, host in (socket.AF_INET, "a.example"), (socket.AF_INET6, "a.example"), (0, "::1"), (0, "127.0.0.1"):
    print(socket.getaddrinfo(host, 80, family, socket.SOCK_STREAM, 0, socket.AI_ADDRCONFIG)[0][4][0])
for host, port, kind in (("198.18.0.1", 80, socket.SOCK_STREAM), ("2001:2::1", 80, socket.SOCK_STREAM),
                         ("127.0.0.53", 53, socket.SOCK_DGRAM)):
    with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET, kind) as s:
        s.connect((host, port))
        print(host, "from", s.getsockname()[0])
for host in "127.0.0.1", "127.0.0.2", "127.1.2.3", "::1":
    with socket.create_server((host, 0), family=socket.AF_INET6 if ":" in host else socket.AF_INET) as server:
        with socket.create_connection(server.getsockname()[:2]) as s:
            print(host, "from", s.getsockname()[0])
for host in "2001:2:0:ffff::1", "2001:2:0:ffff::2":
    try:
        socket.create_connection((host, 80), 20)
        print("reached")
    except OSError as e:
        print(errno.errorcode[e.errno])
PY
stub --mock a.example=body:x --ro "$tmp/ask.py:/ask.py" -- python3 /ask.py
assert_status 0
assert_eq "$stdout" "198.18.0.1
2001:2::1
::1
127.0.0.1
198.18.0.1 from 198.18.0.1
2001:2::1 from ::1
127.0.0.53 from 127.0.0.1
127.0.0.1 from 127.0.0.1
127.0.0.2 from 127.0.0.1
127.1.2.3 from 127.0.0.1
::1 from ::1
ENETUNREACH
ENETUNREACH"
assert_eq "$(denials)" "connect [2001:2:0:ffff::1]:80 [net.mode=stub]
connect [2001:2:0:ffff::2]:80 [net.mode=stub]"
assert_eq "$(json .receipt.network.answered_by.local_prefixes)" 2 "addresses that are answered"
