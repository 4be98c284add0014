#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Nobody waits for a network that is not there: attempts to connect fail at once, and so does a name
# security
# lane: soak (bounds on elapsed time)

. "${0%/*}/../../lib/system.sh"

need_root
need_system_program python3

# A resolver that waits for an answer takes 5 s, every time; a busy machine may be that slow once.
attempts()
{
	run --lang python -c '
import socket, time
began = time.monotonic()
for family, address in (socket.AF_INET, ("192.0.2.1", 443)), (socket.AF_INET6, ("2001:db8::1", 8080)):
    if socket.socket(family, socket.SOCK_STREAM).connect_ex(address) == 0:
        print("reached")
try:
    socket.getaddrinfo("example.org", 80)
    print("resolved")
except OSError:
    pass
print((time.monotonic() - began) * 1000 < 4500)
'
	[ "$stdout" = True ]
}
patiently attempts || fail "that takes time"
