#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# An engine by TCP is spoken to by TLS, each side knowing who the other is, and else not at all
#
# security

. "${0%/*}/../../lib/system.sh"

need_program python3 jq openssl

# certificate FOLDER NAME CA SUBJECT-ALTERNATIVE-NAME: NAME.pem and NAME-key.pem in FOLDER, of a CA there or of itself.
certificate()
{
	local signer=()

	[ "$3" = - ] || signer=(-CA "$1/$3.pem" -CAkey "$1/$3-key.pem" -addext "subjectAltName=$4" -addext basicConstraints=CA:FALSE)
	openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj "/CN=$2" \
		-keyout "$1/$2-key.pem" -out "$1/$2.pem" "${signer[@]}" 2>"$tmp/openssl" ||
		fail "openssl: $(cat "$tmp/openssl")"
}

# client FOLDER CA CERTIFICATE KEY: what DOCKER_CERT_PATH names.
client()
{
	mkdir "$tmp/$1"
	cp "$2" "$tmp/$1/ca.pem" && cp "$3" "$tmp/$1/cert.pem" && cp "$4" "$tmp/$1/key.pem"
}

mkdir "$tmp/ours" "$tmp/theirs"
for who in ours theirs; do
	certificate "$tmp/$who" ca - -
	certificate "$tmp/$who" engine ca DNS:localhost,IP:127.0.0.1
	certificate "$tmp/$who" client ca DNS:client
done
certificate "$tmp/ours" elsewhere ca DNS:elsewhere.example,IP:192.0.2.1
client good "$tmp/ours/ca.pem" "$tmp/ours/client.pem" "$tmp/ours/client-key.pem"
client wrong-ca "$tmp/theirs/ca.pem" "$tmp/ours/client.pem" "$tmp/ours/client-key.pem"
client wrong-client "$tmp/ours/ca.pem" "$tmp/theirs/client.pem" "$tmp/theirs/client-key.pem"
client wrong-key "$tmp/ours/ca.pem" "$tmp/ours/client.pem" "$tmp/theirs/client-key.pem"
client no-client "$tmp/ours/ca.pem" "$tmp/ours/client.pem" "$tmp/ours/client-key.pem"
rm "$tmp/no-client/cert.pem"

faults=(none endless dies-at-start untouched)
for fault in "${faults[@]}"; do
	mkdir "$tmp/$fault"
done
python3 "$repo/tests/lib/fake-dockerd.py" "$tmp" "${faults[@]}" &
at_exit kill $!
wait_until 30 [ -S "$tmp/untouched/sock" ] || fail "the engines do not start"

# proxy NAME FAULT CERTIFICATE: in front of that engine; its port is ${port[NAME]}.
declare -A port
proxy()
{
	python3 "$repo/tests/lib/tls-proxy.py" "$tmp/ours/ca.pem" "$tmp/ours/$3.pem" "$tmp/ours/$3-key.pem" "$tmp/$2/sock" \
		>"$tmp/port.$1" &
	at_exit kill $!
	wait_until 30 [ -s "$tmp/port.$1" ] || fail "the proxy does not start"
	port[$1]=$(cat "$tmp/port.$1")
}
proxy good none engine
proxy endless endless engine
proxy dies-at-start dies-at-start engine
proxy untouched untouched engine
proxy elsewhere untouched elsewhere

# here CERTIFICATES HOST [OPTION...]: a run at an engine there; CERTIFICATES "-": without TLS.
here()
{
	local certs=(DOCKER_TLS_VERIFY=1 "DOCKER_CERT_PATH=$tmp/$1") host=$2

	[ "$1" != - ] || certs=()
	shift 2
	env "${certs[@]}" DOCKER_HOST="tcp://$host" "$MENACE_RUN" -q --backend docker --image x -o "$result" "$@" -- true \
		<<<input >"$tmp/stdout" 2>"$tmp/stderr"
	status=$?
	said=$status,$(jq -r '.reason + "," + (.error.message // "")' "$result")
}

# is PATTERN WHAT
is()
{
	# shellcheck disable=SC2053 # a pattern
	[[ $said == $1 ]] || fail "$2: $said instead of $1: $(cat "$tmp/stderr")"
}

# Who is who it should be is spoken to: requests, input and both outputs.
here good "localhost:${port[good]}"
is 7,exited, "a good certificate"
assert_eq "$(jq -c '[.stdout.text, .stderr.text, .receipt.container.engine]' "$result")" "[\"out\",\"err\",\"tcp://localhost:${port[good]}\"]" output
grep -q '^input ends$' "$tmp/none/log" || fail "the end of the input does not arrive: $(cat "$tmp/none/log")"
! grep -q unexpected "$tmp/none/log" || fail "$(grep unexpected "$tmp/none/log")"
here good "127.0.0.1:${port[endless]}" --output-limit 1Mi --set output.head_bytes=10
is 137,output_limit, "much output"
assert_eq "$(jq -c '[.stdout.head, .stdout.bytes > 1048576]' "$result")" '["xxxxxxxxxx",true]' "much output"

# The start of the container is that of its program: without an answer nobody knows whether it has begun.
here good "127.0.0.1:${port[dies-at-start]}"
is '125,supervisor_lost,POST /containers/*/start: no answer of the Docker Engine at *' "an engine that is lost at the start"

# The container is of another host: nothing of it is observed here, and that is said.
assert_eq "$(jq -c '[([.receipt.backend.losses[].item] | index("telemetry") != null), .telemetry.level]' "$result")" '[true,null]' telemetry

# Who is somebody else is asked nothing.
at=127.0.0.1:${port[untouched]}
here wrong-ca "$at"
is "125,setup_error,GET /version: the Docker Engine at tcp://$at is not the one that ca.pem and its name stand for: *" "a CA of others"
here good "127.0.0.1:${port[elsewhere]}"
is "125,setup_error,GET /version: the Docker Engine at tcp://127.0.0.1:${port[elsewhere]} is not the one that ca.pem and its name stand for: *" "another name"
here wrong-client "$at"
is "125,setup_error,GET /version: the Docker Engine at tcp://$at refuses cert.pem: * alert *" "a client of others"
here wrong-key "$at"
is "125,setup_error,GET /version: the Docker Engine at tcp://$at cannot be asked with the files of DOCKER_CERT_PATH: *" "a key of others"
here no-client "$at"
is "2,setup_error,TLS to the Docker Engine: $tmp/no-client/cert.pem: No such file or directory; DOCKER_CERT_PATH has to be *" "no client certificate"

# The folder alone asks for TLS as well, and for no less.
said=$(env -u DOCKER_TLS_VERIFY DOCKER_CERT_PATH="$tmp/wrong-ca" DOCKER_HOST="tcp://$at" "$MENACE_RUN" -q --backend docker \
	--image x -o - -- true 2>/dev/null | jq -r .error.message)
is '*is not the one that ca.pem and its name stand for: *' "DOCKER_CERT_PATH alone"

# There is no way back to what is not encrypted, nor from it.
here - "$at"
is "125,setup_error,GET /version: no answer of the Docker Engine at tcp://$at: *" "without TLS to one that wants it"
[ ! -s "$tmp/untouched/log" ] || fail "somebody was asked: $(cat "$tmp/untouched/log")"

# What looks like the loopback is not: nothing is sent there without TLS.
for host in 127.example:2375 localhost.example:2375 '[::2]:2375' 192.0.2.1:2375; do
	here - "$host"
	is "2,setup_error,DOCKER_HOST=tcp://${host//[/\\[} without DOCKER_TLS_VERIFY: *; accepted without TLS: the loopback" "$host"
done
for host in localhost:2375@192.0.2.1:2375 127.0.0.1:2375/x 127.0.0.1 127.0.0.1:0 127.0.0.1:65536 '[::1:2375' 'a b:1' :1; do
	here - "$host"
	is "2,setup_error,DOCKER_HOST=tcp://${host//[/\\[}; accepted: unix:///PATH and tcp://HOST:PORT" "$host"
done
