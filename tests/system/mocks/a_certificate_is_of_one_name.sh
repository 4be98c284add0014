#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# What a mocked host shows is certified for its own name and for nobody else's, by an
# authority that only its own run trusts
# security

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/mocks.sh"

need_system_program curl openssl

mocks=(--mock 'https://a.example/=body:a' --mock 'https://b.example/=body:b' --mock 'https://93.184.216.34/=body:ip')

stub "${mocks[@]}" -- curl -sS --resolve b.example:443:198.18.0.1 https://b.example/
assert_status 60
assert_contains "$stderr" "b.example"
assert_eq "$(mock https://a.example/ hits) $(mock https://b.example/ hits)" "0 0" "hits"

# Who does not verify is not let through to another's answers, either.
stub "${mocks[@]}" -- curl -sS -k -w ' %{http_code}' --resolve b.example:443:198.18.0.1 https://b.example/
assert_status 0
assert_eq "$stdout" "menace-run: this is another host
 421"
assert_eq "$(denials)" "http GET https://b.example/ (198.18.0.1:443) [another host's address]"

# An address is certified as one.
stub "${mocks[@]}" -- curl -sS https://93.184.216.34/
assert_status 0
assert_eq "$stdout" ip

# The authority of one run is nobody to the next.
stub "${mocks[@]}" -- cat /run/mocks/ca.pem
cp "$tmp/stdout" "$tmp/other.pem"
stub "${mocks[@]}" --ro "$tmp/other.pem:/other.pem" -- curl -sS --cacert /other.pem https://a.example/
assert_status 60
assert_eq "$(denials)" "tls a.example (198.18.0.1:443) [TLS handshake failed]"
stub "${mocks[@]}" --ro "$tmp/other.pem:/other.pem" -- cmp -s /other.pem /run/mocks/ca.pem
assert_status 1

# What strict verifiers ask for is there.
stub "${mocks[@]}" -- sh -c 'openssl s_client -connect a.example:443 -x509_strict -verify_return_error \
	-verify_hostname a.example </dev/null 2>/dev/null | openssl x509 -noout -ext subjectAltName,basicConstraints,extendedKeyUsage'
assert_status 0
assert_contains "$stdout" "DNS:a.example"
assert_not_contains "$stdout" "b.example"
assert_contains "$stdout" "CA:FALSE"

# The payload sees the certificate, never a key, and changes neither.
stub "${mocks[@]}" -- sh -c 'ls -A /run/mocks; cat /run/mocks/*; touch /run/mocks/x; echo x >>/run/mocks/ca.pem; rm -f /run/mocks/ca.pem'
assert_ne "$status" 0
assert_contains "$stdout" "ca.pem
-----BEGIN CERTIFICATE-----"
assert_not_contains "$stdout" KEY
assert_eq "$(grep -c -e 'Read-only file system' -e 'Permission denied' "$tmp/stderr")" 3 "refusals"
