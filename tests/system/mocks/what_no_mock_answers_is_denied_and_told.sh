#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# A name without a mock does not exist, an address without one is unreachable, a URL
# without one is refused, and each is one denial with what was asked for
# security
# sanitizers
# minutes 3

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/mocks.sh"

need_system_program python3

cat >"$tmp/ask.py" <<'PY'
import errno, socket, urllib.error, urllib.request

def outcome(what, *args, **more):
    try:
        what(*args, **more)
        return "reached"
    except urllib.error.HTTPError as e:
        return e.code
    except socket.gaierror as e:
        return "no such name" if e.errno == socket.EAI_NONAME else e
    except OSError as e:
        return errno.errorcode[e.errno]

def udp(address):
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    s.sendto(b"x", address)

print(outcome(socket.getaddrinfo, "unknown.example", 80))
print(outcome(socket.getaddrinfo, "sub.api.example", 80))
print(outcome(socket.create_connection, ("93.184.216.34", 80)))
print(outcome(socket.create_connection, ("198.18.0.3", 80)))
print(outcome(socket.create_connection, ("2001:db8::1", 80)))
print(outcome(udp, ("8.8.8.8", 53)))
print(outcome(urllib.request.urlopen, "http://api.example/other?q=1"))
print(outcome(urllib.request.urlopen, "http://other.example:8080/"))

# By one address: the reset may come before there is a connection, and the next would be tried.
def read_first(address):
    s = socket.socket(socket.AF_INET)
    s.connect(address)
    s.recv(1)

print(outcome(read_first, ("other.example", 22)))
s = socket.create_connection(("198.18.0.1", 80))
s.sendall(b"GET / HTTP/1.1\r\nHost: other.example\r\n\r\n")
print(s.recv(12).decode()[-3:])
s = socket.create_connection(("198.18.0.1", 80))
s.sendall(b"CONNECT evil.example:443 HTTP/1.1\r\nHost: api.example\r\n\r\n")
print(s.recv(12).decode()[-3:])
s = socket.create_connection(("198.18.0.1", 80))
s.sendall(b"GET http://evil.example/ HTTP/1.1\r\nHost: api.example\r\n\r\n")
print(s.recv(12).decode()[-3:])
PY
# 1: a process was not found for want of time, which a busy machine may not have: then it is asked once more.
asked()
{
	stub --mock 'http://api.example/known=body:x' --mock 'other.example:8080=body:y' --ro "$tmp/ask.py:/ask.py" -- python3 /ask.py
	assert_status 0
	all_were_looked_for
}
wait_until 60 asked || fail "who asked was not looked for"
assert_eq "$stdout" "no such name
no such name
ENETUNREACH
ENETUNREACH
ENETUNREACH
ENETUNREACH
502
reached
ECONNRESET
421
405
400"
assert_eq "$(denials | sort)" "$(sort <<'END'
dns unknown.example [no mock]
dns sub.api.example [no mock]
connect 93.184.216.34:80 [net.mode=stub]
connect 198.18.0.3:80 [net.mode=stub]
connect [2001:db8::1]:80 [net.mode=stub]
sendto 8.8.8.8:53 [net.mode=stub]
http GET http://api.example/other?q=1 (198.18.0.1:80) [no mock]
connect other.example:22 (198.18.0.2:22) [no mock]
http GET http://other.example/ (198.18.0.1:80) [another host's address]
http CONNECT http://api.exampleevil.example:443 (198.18.0.1:80) [no request]
http GET http://api.examplehttp://evil.example/ (198.18.0.1:80) [no request]
END
)" "denials"
assert_eq "$(json '.denials.rows[] | select(.what == "connect" and .rule == "net.mode=stub") | .comm' | sort -u)" \
	python3 "who was denied"
assert_eq "$(json '.denials.rows[] | select(.object == "unknown.example") | "\(.reason); \(.allow)"')" \
	"no mock has this name; --mock TARGET=ACTION"
assert_eq "$(json '.denials.rows[] | "\(.comm) \(.pid > 1)"' | sort -u)" "python3 true" "who was denied"
assert_eq "$(json '.denials.rows[] | select(.object | startswith("GET http://api.example/other")) | "\(.name) \(.address) \(.port)"')" \
	"api.example 198.18.0.1 80"
assert_eq "$(json '.denials.rows[] | select(.object == "8.8.8.8:53") | "\(.name) \(.address) \(.port)"')" "null 8.8.8.8 53"
# Twice a name: for IPv4 and for IPv6
assert_eq "$(json '.denials.rows[] | select(.object == "unknown.example") | .count')" 2 "questions"
