#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# A mock that cannot be played is refused before anything starts, with the words that say
# where it stands and what would be accepted
# sanitizers

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/mocks.sh"

# says "MESSAGE" ARG...
says()
{
	local message=$1
	shift
	run_plain "$MENACE_RUN" "$@"
	assert_refused
	assert_eq "$stderr" "menace-run: $message" "message"
}

says '--mock: "ftp": unknown scheme; accepted: http, https' --net stub --mock ftp://a/=reset -- true
says "--mock: \"'a b\": a quote is not closed" --net stub --mock "a=exec:'a b" -- true
says '--mock: "b": the body is said twice' --net stub --mock a=@x,exec:b -- true
says '--mock: "a" has an answer already' --net stub --mock a=reset --mock A.=auth -- true
says 'network_mocks (--mock): answers are played with --net=stub alone' --net loopback --mock a=reset -- true
says 'network_mocks (--mock): answers are played with net.mode=stub alone' --mock a=reset -- true

# The file is read when the run begins: nothing of the payload starts.
run --net stub --mock "a=@$tmp/missing" -- true
assert_status 2
assert_eq "$(json '"\(.reason) \(.error.message)"')" \
	"setup_error network stub: mock a: open $tmp/missing: No such file or directory"
: >"$tmp/empty"
run --net stub --mock "a=@$tmp/empty,flip" -- true
assert_status 2
assert_contains "$stderr" "mock a: $tmp/empty is empty: nothing of it can be another bit"
mkfifo "$tmp/fifo"
run --net stub --mock "a=@$tmp/fifo" -- true
assert_status 2
assert_contains "$stderr" "mock a: $tmp/fifo is not a regular file"
truncate -s 16777217 "$tmp/large"
run --net stub --mock "a=@$tmp/large" -- true
assert_status 2
assert_contains "$stderr" "has 16777217 bytes; at most 16777216 are accepted"

document()
{
	printf '{"schema": "menace.spec/1", "program": ["true"], "net": {"mode": "stub"}, "network_mocks": %s}' "$1" >"$tmp/spec.json"
}
document '{"a": {"status": 99}}'
says "--spec: $tmp/spec.json: network_mocks.a.status: \"99\": not a status; accepted: 200 to 599" --spec "$tmp/spec.json"
document '{"a": {"statsu": 200}}'
run_plain "$MENACE_RUN" --spec "$tmp/spec.json"
assert_refused network_mocks.a statsu status
document '{"a/b": "reset"}'
says "--spec: $tmp/spec.json: network_mocks.a/b: \"a/b\": neither HOST[:PORT] nor a URL with http:// or https://" --spec "$tmp/spec.json"
document '{"a": {"headers": {"Connection": "close"}, "status": 200}}'
run_plain "$MENACE_RUN" --spec "$tmp/spec.json"
assert_refused network_mocks.a.headers.Connection "this header is the responder's own"
document '{"a": {"exec": []}}'
says "--spec: $tmp/spec.json: network_mocks.a.exec: \"\": the command is empty" --spec "$tmp/spec.json"
document '{"a": {"exec": ["x", 1]}}'
run_plain "$MENACE_RUN" --spec "$tmp/spec.json"
assert_refused 'network_mocks.a.exec[1]'
document '{"a": {"exec": "x", "within": "0s"}}'
run_plain "$MENACE_RUN" --spec "$tmp/spec.json"
assert_refused network_mocks.a.within "accepted: 1ms to 5m"
# A program that the payload could change would be the payload's, not the caller's.
mkdir "$tmp/rw"
cp /bin/true "$tmp/rw/answer"
ln -s rw/answer "$tmp/link"
run --net stub --rw "$tmp/rw:/rw" --mock "a=exec:$tmp/link" -- true
assert_status 2
assert_contains "$(json .error.message)" "mock a: the payload could change $tmp/rw/answer"
document '{"a": {"delay": "1s"}}'
run_plain "$MENACE_RUN" --spec "$tmp/spec.json"
assert_refused '"a": no answer'

# Late answers where nothing answers: refused, or accepted by name and told.
run_plain "$MENACE_RUN" -p '{"API_LATENCY_MS": 100}' -- true
assert_refused "net.api_latency_ms (API_LATENCY_MS): only mocks are answered late" "--best-effort api-latency"
run -q -p '{"API_LATENCY_MS": 100}' --best-effort api-latency -- true
assert_status 0
assert_eq "$(json '.receipt.degraded[] | select(.item == "api-latency") | .why')" "in this mode nothing is answered"
run -q -p '{"API_LATENCY_MS": 0}' -- true
assert_status 0
