#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# --net allowlist: no list and an empty list allow nothing, and rules without the mode are refused
# security
# minutes 3

. "${0%/*}/../../lib/outside.sh"
. "${0%/*}/../../lib/system.sh"
start_outside

cat >"$tmp/go.py" <<'PY'
import socket
for host, port in ("203.0.113.10", 80), ("2001:db8::10", 80), ("good.example", 80):
    try:
        with socket.create_connection((host, port), timeout=20) as s:
            s.sendall(b"GET / HTTP/1.1\r\nHost: good.example\r\n\r\n")
            print("reached", host, s.recv(10))
    except OSError as e:
        print("held", host)
PY
check()
{
	assert_status 0
	assert_eq "$stdout" 'held 203.0.113.10
held 2001:db8::10
held good.example' "$1"
	assert_eq "$(denied | uniq)" 'connect 203.0.113.10:80 net.allow
connect [2001:db8::10]:80 net.allow
resolve good.example net.allow' "$1: denials"
	assert_eq "$(json '.network.allowlist.rules | length')" 0 "$1: rules"
	assert_eq "$(json '.denials.rows[] | select(.object == "203.0.113.10:80") | "\(.address) \(.port) \(.allow)"')" \
		'203.0.113.10 80 --allow 203.0.113.10:80' "$1: how to allow it"
	assert_eq "$(json '.denials.rows[] | select(.what == "resolve") | "\(.name) \(.allow)"')" 'good.example --allow good.example' "$1: name"
}

# ask COMMAND...: a run in which each denied process was looked for in time
ask()
{
	"$@"
	all_were_looked_for
}
wait_until 60 ask allowed "" --ro "$tmp/go.py:/go.py" -- python3 /go.py || fail "$(json .denials.rows)"
check "no list"
for net in '{"mode":"allowlist","allow":[],"resolver":"203.0.113.53"}' '{"mode":"allowlist","resolver":"203.0.113.53"}'; do
	printf '{"schema":"menace.spec/1","program":["python3","/go.py"],"mounts":[{"type":"ro","source":"%s","dest":"/go.py"}],"net":%s}' \
		"$tmp/go.py" "$net" >"$tmp/spec.json"
	wait_until 60 ask run --spec "$tmp/spec.json" || fail "$(json .denials.rows)"
	check "$net"
done
assert_eq "$(cat "$outside_log")" "" "what came through"

# A spec that is printed is taken back to the same rules.
run_plain "$MENACE_RUN" --net allowlist --allow 'B.example.:443,10.0.0.0/8,b.example:443' --dry-run -- true
assert_eq "$(jq -c .spec.net.allow <<<"$stdout")" '["b.example:443","10.0.0.0/8"]' "rules"
jq .spec <<<"$stdout" >"$tmp/again.json"
run_plain "$MENACE_RUN" --spec "$tmp/again.json" --dry-run
assert_eq "$(jq -c .spec.net.allow <<<"$stdout")" '["b.example:443","10.0.0.0/8"]' "rules again"

refused()
{
	local text=$1

	shift
	run "$@" -- true
	assert_refused "$text"
}
refused 'net.allow: rules are for --net=allowlist alone' --net loopback --allow a.example
refused 'net.allow: rules are for net.mode=allowlist alone' --allow a.example
refused 'net.resolver: is for net.mode=allowlist alone' -s net.resolver=1.1.1.1
refused '--allow: "": the host is empty' --net allowlist --allow ''
refused '--allow: "": the host is empty' --net allowlist --allow 'a.example,'
refused '--allow: "*.com": a wildcard needs at least two labels behind it' --net allowlist --allow '*.com'
refused 'net.resolver: "dns.example" is no address of a server' --net allowlist -s net.resolver=dns.example
printf '{"schema":"menace.spec/1","program":["true"],"net":{"mode":"allowlist","allow":["a.example","1.2.3.4/24"]}}' >"$tmp/spec.json"
run --spec "$tmp/spec.json"
assert_refused 'net.allow[1]: "1.2.3.4/24": the address has bits beyond its prefix length'
printf '{"schema":"menace.spec/1","program":["true"],"net":{"mode":"allowlist","alow":[]}}' >"$tmp/spec.json"
run --spec "$tmp/spec.json"
assert_refused 'alow' 'allow'
