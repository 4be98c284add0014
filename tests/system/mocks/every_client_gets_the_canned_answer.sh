#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Programs of any language get the canned answer over HTTP and HTTPS, with their own
# verification of certificates switched on, and without being told of mocks
#

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/mocks.sh"

need_file "$MENACE_HELPERS/ask-http"

printf 'canned\n' >"$tmp/answer"
mocks=(--mock "http://api.example/a=@$tmp/answer" --mock "https://api.example/a=@$tmp/answer,type:text/plain")
asked=0

# gets WHAT PROGRAM...: one answer over each scheme
gets()
{
	local what=$1
	shift
	stub "${mocks[@]}" --ro "$MENACE_HELPERS/ask-http:/ask-http" -- "$@"
	assert_status 0
	assert_eq "$stdout" "canned
canned" "answers to $what"
	assert_eq "$(mock http://api.example/a hits) $(mock https://api.example/a hits)" "1 1" "hits of $what"
	assert_eq "$(mock https://api.example/a body_bytes)" 7 "bytes to $what"
	assert_eq "$(denials)" "" "denials of $what"
	asked=$((asked + 1))
}

python()
{
	gets "$1" python3 -c "$2"
}

# A static program: no library that could be told anything.  It speaks no TLS.
stub "${mocks[@]}" --ro "$MENACE_HELPERS/ask-http:/ask-http" -- \
	/ask-http api.example 80 $'GET /a HTTP/1.1\r\nHost: api.example\r\nConnection: close\r\n\r\n'
assert_status 0
assert_contains "$stdout" $'\r\n\r\ncanned' "answer to a static program"
assert_eq "$(mock http://api.example/a hits)" 1

if [ -x /usr/bin/python3 ]; then
	python urllib '
import urllib.request
for scheme in "http", "https":
    print(urllib.request.urlopen(scheme + "://api.example/a").read().decode(), end="")'
	python http.client '
import http.client
for kind in http.client.HTTPConnection, http.client.HTTPSConnection:
    c = kind("api.example"); c.request("GET", "/a"); print(c.getresponse().read().decode(), end="")'
	for library in requests httpx; do
		! /usr/bin/python3 -c "import $library" 2>/dev/null || python $library "
import $library
for scheme in 'http', 'https':
    print($library.get(scheme + '://api.example/a').text, end='')"
	done
fi
# shellcheck disable=SC2016 # for the programs inside
{
	[ ! -x /usr/bin/curl ] || gets curl curl -sS http://api.example/a https://api.example/a
	[ ! -x /usr/bin/wget ] || gets wget wget -q -O - http://api.example/a https://api.example/a
	# GnuTLS, and no variable that says whom to trust
	[ ! -x /usr/bin/wget ] || gets wget env -i wget -q -O - http://api.example/a https://api.example/a
	[ ! -x /usr/bin/node ] || ! /usr/bin/node -e 'process.exit(typeof fetch === "function" ? 0 : 1)' ||
		gets node node -e '
(async () => { for (const s of ["http", "https"])
	process.stdout.write(await (await fetch(s + "://api.example/a")).text()) })()'
	! /usr/bin/perl -MHTTP::Tiny -MIO::Socket::SSL -e 1 2>/dev/null || gets perl perl -MHTTP::Tiny -e '
for my $s ("http", "https") { print HTTP::Tiny->new(verify_SSL => 1)->get("$s://api.example/a")->{content} }'
}
[ "$asked" -ge 2 ] || skip "no program that asks over HTTPS: python3, curl, wget, node, perl"
