#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# A mocked name has an IPv6 address too, and a host may be an IPv6 address: the canned answer comes
# over both families and with TLS, and what is not mocked is denied in both
# minutes 3

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/mocks.sh"

need_file /proc/net/if_inet6
need_system_program python3

cat >"$tmp/client.py" <<'PY'
import errno, http.client, socket, ssl, sys
def get(host, port, path="/", family=0, tls=False, name=None):
    try:
        address = socket.getaddrinfo(host, port, family, socket.SOCK_STREAM)[0]
        s = socket.socket(address[0], socket.SOCK_STREAM)
        s.connect(address[4])
        if tls:
            s = ssl.create_default_context().wrap_socket(s, server_hostname=name or host)
        c = http.client.HTTPConnection(host, port)
        c.sock = s
        c.request("GET", path)
        r = c.getresponse()
        return "%d %s" % (r.status, r.read().decode()) if r.status == 200 else r.status
    except socket.gaierror as e:
        return "no such name" if e.errno in (socket.EAI_NONAME, socket.EAI_NODATA) else e
    except OSError as e:
        return errno.errorcode.get(e.errno, e)
for family in socket.AF_INET, socket.AF_INET6:
    print(get("a.example", 80, family=family), get("a.example", 443, family=family, tls=True))
    print(get("other.example", 80, family=family))
    print(get("a.example", 8080, family=family))
print(get("2001:db8::1", 8080), get("2001:db8::1", 443, tls=True))
print(get("2001:DB8:0::1", 8080), get("2001:db8::1", 443, "/other", tls=True))
print(get("2001:db8::2", 8080), get("2001:2::3", 80), get("2001:2::", 80))
print(get("2001:db8::1", 81))
PY
# 1: a process was not found for want of time, which a busy machine may not have: then it is asked once more.
asked()
{
	stub --mock 'a.example:80=body:name' --mock 'https://a.example/*=body:names' --mock '[2001:DB8::1]:8080=body:six' \
		--mock 'https://[2001:db8:0::1]/=body:sixes' --ro "$tmp/client.py:/client.py" -- python3 /client.py
	assert_status 0
	all_were_looked_for
}
wait_until 60 asked || fail "who asked was not looked for"
assert_eq "$stdout" "200 name 200 names
no such name
ECONNRESET
200 name 200 names
no such name
ECONNRESET
200 six 200 sixes
200 six 502
ENETUNREACH ENETUNREACH ENETUNREACH
ECONNRESET"
assert_eq "$(denials | sort)" "$(sort <<'END'
dns other.example [no mock]
connect a.example:8080 (198.18.0.1:8080) [no mock]
connect a.example:8080 ([2001:2::1]:8080) [no mock]
http GET https://[2001:db8::1]/other ([2001:db8::1]:443) [no mock]
connect [2001:db8::2]:8080 [net.mode=stub]
connect [2001:2::3]:80 [net.mode=stub]
connect [2001:2::]:80 [net.mode=stub]
connect [2001:db8::1]:81 ([2001:db8::1]:81) [no mock]
END
)" "denials"
assert_eq "$(json '.denials.rows[] | select(.object == "other.example") | .count')" 2 "questions of both families"
assert_eq "$(json '.denials.rows[] | select(.address == "2001:2::1") | "\(.name) \(.port) \(.comm)"')" "a.example 8080 python3"
assert_eq "$(mock a.example:80 hits) $(mock '[2001:db8::1]:8080' hits) $(mock 'https://[2001:db8::1]/' hits)" "2 2 1"
assert_eq "$(json .receipt.network.answered_by.local_prefixes)" 3 "addresses"

# A fault of the link is one of both families.
stub --mock 'a.example=body:x' --net-fault 'refuse:a.example:80@0s..' -- python3 -c '
import errno, socket
for address in ("198.18.0.1", 80), ("2001:2::1", 80):
    try:
        socket.create_connection(address, 10)
        print("reached")
    except OSError as e:
        print(errno.errorcode[e.errno])
'
assert_status 0
assert_eq "$stdout" "ECONNREFUSED
ECONNREFUSED"

# curl asks for both families at once, and takes the one that it is told to.
if [ -x /usr/bin/curl ]; then
	stub --mock 'a.example=body:x' -- \
		curl -sS -4 http://a.example/ --next -sS -6 http://a.example/
	assert_status 0
	assert_eq "$stdout" xx
fi

for text in '[::1]:8080' '[::ffff:127.0.0.1]' '[fe80::1]' '[ff02::1]' '2001:db8::1' '[2001:2::1]'; do
	run_plain "$MENACE_RUN" --net stub --mock "$text=reset" -- true
	assert_refused "--mock"
done
