#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# One connection carries many requests, of bodies with a length and in chunks, and a client that waits
# for "100 Continue" before its body is told so; for canned answers and for those of commands

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/mocks.sh"

need_system_program curl

head -c 5000 /dev/zero | tr '\0' x >"$tmp/body"
# The bytes of the body that it was given.
cat >"$tmp/count.sh" <<'END'
#!/bin/sh
sed '1,/^\r$/d' | wc -c | tr -d '\n'
END
chmod +x "$tmp/count.sh"
mocks=(--mock 'http://a.example/canned=body:canned' --mock 'https://a.example/canned=body:canned'
	--mock "http://a.example/cmd=exec:$tmp/count.sh" --mock "https://a.example/cmd=exec:$tmp/count.sh")

for scheme in http https; do
	url=$scheme://a.example
	stub "${mocks[@]}" --ro "$tmp/body:/body" -- curl -sS -w ' %{num_connects} %{http_code}\n' \
		"$url/canned" "$url/cmd" --next -sS -w ' %{num_connects} %{http_code}\n' -d abc "$url/cmd" \
		--next -sS -w ' %{num_connects} %{http_code}\n' -H 'Transfer-Encoding: chunked' --data-binary @/body "$url/cmd" \
		--next -sS -w ' %{num_connects} %{http_code}\n' -H 'Expect: 100-continue' --data-binary @/body "$url/cmd" \
		--next -sS -w ' %{num_connects} %{http_code}\n' -H 'Expect: 100-continue' --data-binary @/body "$url/canned" \
		--next -sS -w ' %{num_connects} %{http_code}\n' -I "$url/cmd" \
		--next -sS -w ' %{num_connects} %{http_code}\n' "$url/canned"
	assert_status 0
	# Content-Length of HEAD is that of the answer it stands for.
	assert_eq "$(tr -d '\r' <"$tmp/stdout" | grep -v '^Content-Type\|^$')" "canned 1 200
0 0 200
3 0 200
5000 0 200
5000 0 200
canned 0 200
HTTP/1.1 200 OK
Content-Length: 1
 0 200
canned 0 200" "$scheme"
done

# Nobody waits: with --expect100-timeout a client that is not told sends its body only after that.
stub "${mocks[@]}" --ro "$tmp/body:/body" -- curl -sS -o /dev/null -w '%{http_code}' --expect100-timeout 100000 \
	-H 'Expect: 100-continue' --data-binary @/body http://a.example/cmd
assert_status 0
assert_eq "$stdout" 200 "answer to a body that waits to be asked for"

if /usr/bin/python3 -c 'import requests' 2>/dev/null; then
	cat >"$tmp/client.py" <<'PY'
import requests
def pieces():
    for i in range(5):
        yield b"x" * 1000
with requests.Session() as s:
    ports = set()
    for scheme in "http", "https":
        for path in "/canned", "/cmd":
            url = scheme + "://a.example" + path
            print(*[f(url).text for f in (s.get, lambda u: s.post(u, data=b"abc"), lambda u: s.post(u, data=pieces()),
                                          lambda u: s.put(u, data=b"y" * 3000, headers={"Expect": "100-continue"}))])
    print([len(p.pool.queue) and p.num_connections for p in
           (s.get_adapter("http://").poolmanager.pools[k] for k in s.get_adapter("http://").poolmanager.pools.keys())],
          [p.num_connections for p in
           (s.get_adapter("https://").poolmanager.pools[k] for k in s.get_adapter("https://").poolmanager.pools.keys())])
PY
	stub "${mocks[@]}" --ro "$tmp/client.py:/client.py" -- python3 /client.py
	assert_status 0
	assert_eq "$stdout" "canned canned canned canned
0 3 5000 3000
canned canned canned canned
0 3 5000 3000
[1] [1]" "requests"
fi

# Requests that come before the answers to those before them.
if [ -x /usr/bin/python3 ]; then
	stub "${mocks[@]}" -- python3 -c '
import socket
s = socket.create_connection(("a.example", 80))
get = b"GET /%s HTTP/1.1\r\nHost: a.example\r\n\r\n"
put = b"PUT /cmd HTTP/1.1\r\nHost: a.example\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n1;x=y\r\nc\r\n0\r\nT: u\r\n\r\n"
s.sendall(get % b"cmd" + put + get % b"canned" + get % b"cmd" + get % b"nosuch")
s.shutdown(socket.SHUT_WR)
said = b""
while True:
    n = s.recv(65536)
    if not n:
        break
    said += n
print([p.split(b"\r\n\r\n")[1].strip().decode() for p in said.split(b"HTTP/1.1 ")[1:]])'
	assert_status 0
	assert_eq "$stdout" "['0', '3', 'canned', '0', 'menace-run: no mock answers this URL']" "pipelined requests"
fi
