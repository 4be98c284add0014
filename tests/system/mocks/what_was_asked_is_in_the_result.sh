#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# What each mock was asked is in the result and one that never was is told; the
# request with its mocks is in the record, and what was denied is in the store

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/mocks.sh"

need_system_program curl
[ -x "${MENACE:-}" ] || fail "no menace: set MENACE"

mocks=(--mock 'http://a.example/x=status:201,body:hello' --mock 'http://a.example/y=body:never')
run -t "$(scaled 60)" --store "$tmp/store" --net stub "${mocks[@]}" -- \
	curl -sS http://a.example/x http://a.example/z
assert_status 0
assert_eq "$stderr" "menace-run: mock http://a.example/y: was never asked"
assert_eq "$(json '.network | @json')" '{"mocks":[{"body_bytes":5,"fail":null,"failures":0,"hits":1,"target":"http://a.example/x","unused":false},{"body_bytes":0,"fail":null,"failures":0,"hits":0,"target":"http://a.example/y","unused":true}],"unused_mock":"http://a.example/y"}'
assert_eq "$(json '.receipt.network | "\(.state) \(.mode) \(.links) \(.routes) \(.stub.mocks) \(.stub.denied)"')" \
	"enforced stub lo 0 2 1" "receipt"
assert_match "$(json .receipt.network.stub.authority_sha256)" '^[0-9a-f]{64}$'
MENACE_STORE=$tmp/store run_plain "$MENACE" query "SELECT what || ' ' || object AS denied FROM denials"
assert_contains "$stdout" "http GET http://a.example/z (198.18.0.1:80)" "denials of the store"

# One that has to be asked and was not fails the run, unless that fails by itself; all that were do not.
need=(--set net.mocks_required=true --net stub)
run -t "$(scaled 60)" "${need[@]}" "${mocks[@]}" -- curl -sS http://a.example/x
assert_status 125
assert_eq "$stderr" "menace-run: mock http://a.example/y: was never asked, and net.mocks_required says that it has to be (unused_mock)"
assert_eq "$(json '[.reason, .exit.code, .exit.status, .network.unused_mock] | @json')" '["exited",0,125,"http://a.example/y"]'
run -q "${need[@]}" "${mocks[@]}" -- sh -c 'exit 3'
assert_status 3
run -q -t "$(scaled 60)" "${need[@]}" --mock 'http://a.example/x=body:hello' -- curl -sS http://a.example/x
assert_status 0
assert_eq "$(json .network.unused_mock)" null
run --set net.mocks_required=true -- true
assert_status 2
assert_contains "$stderr" "net.mocks_required: there are mocks with"

# From a document it is the same request.
run_plain "$MENACE_RUN" "${mocks[@]}" --net stub --dry-run -- true
jq .spec "$tmp/stdout" >"$tmp/spec.json" 2>/dev/null
assert_eq "$(jq -c .network_mocks "$tmp/spec.json")" '{"http://a.example/x":{"status":201,"body":"hello"},"http://a.example/y":{"body":"never"}}'
run -q --spec "$tmp/spec.json"
assert_status 0
first=$(json .spec_sha256)
run -q --net stub "${mocks[@]}" -- true
assert_eq "$(json .spec_sha256)" "$first" "the hash of the request"
cat >"$tmp/spec.json" <<'END'
{"schema": "menace.spec/1", "program": ["curl", "-sS", "-i", "http://a.example/b", "https://b.example/"],
 "net": {"mode": "stub"},
 "network_mocks": {"http://A.example/b": {"status": 202, "headers": {"X-Y": "z"}, "body": {"base64": "AP8="}},
	"b.example": "type:text/plain,body:two"}}
END
run -q -t "$(scaled 60)" --spec "$tmp/spec.json"
assert_status 0
assert_eq "$(tr -d '\r' <"$tmp/stdout" | sed -n 's/^X-Y: //p')" z
assert_eq "$(head -c 200 "$tmp/stdout" | od -An -tx1 | tr -d ' \n' | grep -o '0d0a0d0a00ff')" 0d0a0d0a00ff
assert_contains "$stdout" two

# Nor does one of which nobody can tell whether it was: menace-netd is stopped for good before the run ends.
mkfifo "$tmp/in"
"$MENACE_RUN" -o "$result" -t "$(scaled 60)" "${need[@]}" --mock 'http://a.example/x=body:hello' -- \
	sh -c 'curl -sS http://a.example/x; echo; cat' <"$tmp/in" >"$tmp/said" 2>"$tmp/stderr" &
pid=$!
exec {in}>"$tmp/in"
wait_until "$(scaled 30)" grep -q -s hello "$tmp/said" || fail "$(cat "$tmp/stderr")"
netd=$(pgrep -P "$pid" -x menace-netd) || fail "no menace-netd below $pid"
kill -STOP "$netd"
exec {in}>&-
wait "$pid"
assert_eq "$?" 125 "exit status where nobody counted"
assert_reason exited
assert_contains "$(cat "$tmp/stderr")" "which mocks were asked is not known, and net.mocks_required says that each has to be (unused_mock)"
assert_eq "$(json '[.network.unused_mock, .network.mocks[0].hits, .network.mocks[0].unused,
	.receipt.network.stub.denied_untold] | @json')" '[null,null,null,null]' "what is not known"
assert_eq "$(json '[.receipt.degraded[] | select(.item == "network-record")] | length')" 1 "what is told of it"
