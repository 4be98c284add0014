#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# menace-send verifies certificates: one that nobody vouches for gets nothing, one that --ca names and
# that is of the host gets all
#
# security

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/store.sh"
. "$repo/tests/lib/export.sh"

need_root
need_program openssl unshare mount
unset https_proxy HTTPS_PROXY ALL_PROXY all_proxy

put_record 01m8grcbq84h03083qe5vt6fs0

# make_certificate NAME SUBJECT_ALTERNATIVE
make_certificate()
{
	openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj "/CN=$1" \
		-addext "subjectAltName=$2" -keyout "$tmp/$1.key" -out "$tmp/$1.pem" 2>"$tmp/openssl" ||
		fail "openssl: $(<"$tmp/openssl")"
}

# send_to NAME [OPTION...]: to a receiver with this certificate.
send_to()
{
	start_receiver --tls "$tmp/$1.pem" "$tmp/$1.key"
	menace export --format otlp --endpoint "https${url#http}/ok" --retries 0 "${@:2}"
	requests=$(count_requests ok)
	stop_receiver
}

make_certificate ours IP:127.0.0.1
make_certificate other DNS:other.example

send_to ours
assert_status 125
assert_contains "$stderr" "self-signed certificate"
assert_eq "$requests" 0 "requests"
send_to other --ca "$tmp/other.pem"
assert_status 125
assert_contains "$stderr" "target host name"
assert_eq "$requests" 0 "requests"
send_to ours --ca "$tmp/other.pem"
assert_status 125
assert_eq "$requests" 0 "requests"
send_to ours --ca "$tmp/ours.pem"
assert_status 0
assert_eq "$requests" 2 "requests"
send_to ours --ca "$tmp/nothing.pem"
assert_status 125

# --ca takes the place of what the system trusts: here the receiver's is in the system's folder.
folder=$(openssl version -d | sed 's/^OPENSSLDIR: "\(.*\)"$/\1/')/certs
[ -d "$folder" ] || skip "no folder of certificates: $folder"
mkdir "$tmp/system"
cp "$tmp/ours.pem" "$tmp/system/"
cp "$tmp/other.pem" "$tmp/system/ca-certificates.crt" # the bundle, where that is in it
openssl rehash "$tmp/system" || fail "openssl rehash"
# shellcheck disable=SC2016 # for the shell inside
trusting='mount --bind "$1" "$(readlink -f "$2")" && shift 2 && exec "$@"'
for ca in '' other; do
	start_receiver --tls "$tmp/ours.pem" "$tmp/ours.key"
	run_plain unshare --mount --propagation private sh -c "$trusting" sh "$tmp/system" "$folder" "$MENACE" \
		export --format otlp --endpoint "https${url#http}/ok" --retries 0 ${ca:+--ca "$tmp/$ca.pem"}
	assert_status "$([ "$ca" ] && echo 125 || echo 0)"
	assert_eq "$(count_requests ok)" "$([ "$ca" ] && echo 0 || echo 2)" "requests with the system's folder and ${ca:-no} --ca"
	stop_receiver
done
