#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Every attempt to reach a network has its address and port in the record, and
# fails with the errno of a host without a route
# security

. "${0%/*}/../../lib/system.sh"

need_root
need_system_program python3

run --lang python -c '
import errno, socket
def attempt(family, kind, address, send=False):
    s = socket.socket(family, kind)
    try:
        s.sendto(b"x", address) if send else s.connect(address)
        print("reached")
    except OSError as e:
        print(errno.errorcode[e.errno])
attempt(socket.AF_INET, socket.SOCK_STREAM, ("192.0.2.1", 443))
attempt(socket.AF_INET, socket.SOCK_STREAM, ("127.0.0.1", 80))
attempt(socket.AF_INET6, socket.SOCK_STREAM, ("2001:db8::1", 8080))
attempt(socket.AF_INET, socket.SOCK_DGRAM, ("192.0.2.53", 53), True)
try:
    socket.getaddrinfo("example.org", 80)
    print("resolved")
except OSError:
    print("unresolved")
'
assert_status 0
assert_eq "${stdout//$'\n'/ }" "ENETUNREACH ENETUNREACH ENETUNREACH ENETUNREACH unresolved"
row()
{
	json ".denials.rows[] | select(.object == \"$1\") | \"\(.layer) \(.what) \(.errno.name) \(.rule) \(.allow)\""
}
assert_eq "$(row 192.0.2.1:443)" "network connect ENETUNREACH net.mode=none --net host"
assert_eq "$(row 127.0.0.1:80)" "network connect ENETUNREACH net.mode=none --net loopback"
assert_eq "$(row '[2001:db8::1]:8080')" "network connect ENETUNREACH net.mode=none --net host"
assert_eq "$(row 192.0.2.53:53)" "network sendto ENETUNREACH net.mode=none --net host"

# What --net loopback allows is no denial.
run --net loopback --lang python -c '
import socket
a = socket.create_server(("127.0.0.1", 0))
b = socket.create_connection(a.getsockname())
print("connected")
'
assert_eq "$stdout" connected
assert_eq "$(json .denials.total)" 0 "denials with a loopback"
