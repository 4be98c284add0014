#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Programs of any language get the canned answer over HTTP and HTTPS, with their own
# verification of certificates switched on, and without being told of mocks

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/mocks.sh"

need_file "$MENACE_HELPERS/ask-http"
need_system_program bash

printf 'canned\n' >"$tmp/answer"
mocks=(--mock "http://api.example/a=@$tmp/answer" --mock "https://api.example/a=@$tmp/answer,type:text/plain")

# client NAME PROGRAM...: one that is there; all of them ask in one run, one after the other.
names=() clients=
client()
{
	local words

	names+=("$1")
	printf -v words '%q ' "${@:2}"
	clients+=$words$'\n'
}

# A static program: no library that could be told anything.  It speaks no TLS.
stub "${mocks[@]}" --ro "$MENACE_HELPERS/ask-http:/ask-http" -- \
	/ask-http api.example 80 $'GET /a HTTP/1.1\r\nHost: api.example\r\nConnection: close\r\n\r\n'
assert_status 0
assert_contains "$stdout" $'\r\n\r\ncanned' "answer to a static program"
assert_eq "$(mock http://api.example/a hits)" 1

if [ -x /usr/bin/python3 ]; then
	client urllib python3 -c '
import urllib.request
for scheme in "http", "https":
    print(urllib.request.urlopen(scheme + "://api.example/a").read().decode(), end="")'
	client http.client python3 -c '
import http.client
for kind in http.client.HTTPConnection, http.client.HTTPSConnection:
    c = kind("api.example"); c.request("GET", "/a"); print(c.getresponse().read().decode(), end="")'
	for library in requests httpx; do
		! /usr/bin/python3 -c "import $library" 2>/dev/null || client $library python3 -c "
import $library
for scheme in 'http', 'https':
    print($library.get(scheme + '://api.example/a').text, end='')"
	done
fi
# shellcheck disable=SC2016 # for the programs inside
{
	[ ! -x /usr/bin/curl ] || client curl curl -sS http://api.example/a https://api.example/a
	[ ! -x /usr/bin/wget ] || client wget wget -q -O - http://api.example/a https://api.example/a
	# GnuTLS, and no variable that says whom to trust
	[ ! -x /usr/bin/wget ] || client wget env -i wget -q -O - http://api.example/a https://api.example/a
	[ ! -x /usr/bin/node ] || ! /usr/bin/node -e 'process.exit(typeof fetch === "function" ? 0 : 1)' ||
		client node node -e '
(async () => { for (const s of ["http", "https"])
	process.stdout.write(await (await fetch(s + "://api.example/a")).text()) })()'
	! /usr/bin/perl -MHTTP::Tiny -MIO::Socket::SSL -e 1 2>/dev/null || client perl perl -MHTTP::Tiny -e '
for my $s ("http", "https") { print HTTP::Tiny->new(verify_SSL => 1)->get("$s://api.example/a")->{content} }'
}
[ ${#names[@]} -ge 2 ] || skip "no program that asks over HTTPS: python3, curl, wget, node, perl"
stub "${mocks[@]}" -- bash -c "$clients"
assert_status 0
assert_eq "$stdout" "$(printf 'canned\ncanned\n%.0s' "${names[@]}")" "answers to ${names[*]}"
assert_eq "$(mock http://api.example/a hits) $(mock https://api.example/a hits)" "${#names[@]} ${#names[@]}" "hits of ${names[*]}"
assert_eq "$(mock https://api.example/a body_bytes)" $((7 * ${#names[@]})) "bytes to ${names[*]}"
assert_eq "$(denials)" "" "denials of ${names[*]}"
