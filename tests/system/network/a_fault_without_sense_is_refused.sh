#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# A fault that is not written as it must be, or that nothing could make, ends before anything starts,
# with the item, the value and what is accepted
# sanitizers

. "${0%/*}/../../lib/system.sh"

# (All of the grammar is in tests/unit/test-outage.c.)
while IFS='|' read -r text message; do
	run --net stub --net-fault "$text" -- true
	assert_refused "--net-fault" "$message"
done <<'CASES'
|"": "@" is missing; accepted: KIND[:HOST,...]@FROM..[TO]
latency@0..1s|"latency" is no kind of fault; accepted: blackhole, partition, refuse, dns_failure
blackhole@2s..1s|"2s..1s": TO is not after FROM, so it would never be in force
CASES

many=()
for i in {1..1000}; do
	many+=(--net-fault "blackhole@$i..")
done
run --net stub "${many[@]}" -- true
assert_refused "--net-fault" "too many faults; accepted: at most 32"

# What nothing could make.
while IFS='|' read -r options message; do
	# shellcheck disable=SC2086 # words
	run $options -- true
	assert_refused "net.faults (--net-fault)" "$message" "--best-effort net"
done <<'CASES'
--net none --net-fault blackhole@0..|"blackhole@0ms..": there is no link but with --net loopback, stub or allowlist
--net host --net-fault dns_failure@0..1s|there is no link
--net loopback --net-fault refuse:a.example@0..|with net.mode loopback no name leads anywhere; accepted: addresses
--net stub --level 1 --unsafe --net-fault blackhole@0..|level 1 keeps the capability to take it away; accepted: level 2 to 5
CASES
run --net none --net-fault blackhole@0..1s --best-effort net -- true
assert_status 0
assert_eq "$(json '.receipt.network.faults[0] | [.state, .why, .applied, .measured] | tostring')" \
	'["not_made","there is no link but with --net loopback, stub or allowlist",null,null]'
assert_eq "$(json '.receipt.degraded[0].item')" net

# In a document: as a text, or by its parts.
write_document()
{
	printf '{"schema": "menace.spec/1", "program": ["true"], "net": {"mode": "stub", "faults": %s}}' "$1" \
		>"$tmp/spec.json"
}

while IFS='|' read -r faults message; do
	write_document "$faults"
	run --spec "$tmp/spec.json"
	assert_refused "net.faults" "$message"
done <<'CASES'
{}|net.faults: an object where a list is expected
[{"kind": "blackhole"}]|net.faults[0]: "from_ms" is missing
[{"kind": "blackhole:x", "from_ms": 0}]|net.faults[0].kind: not the name of a kind
[{"kind": "blackhole", "from_ms": 0, "ports": 1}]|net.faults[0]
[{"kind": "blackhole", "from_ms": 0, "hosts": []}]|net.faults[0].hosts: an empty list
[{"kind": "blackhole", "from_ms": 0, "hosts": ["a.example,b.example"]}]|net.faults[0].hosts[0]: one host an item
[{"kind": "blackhole", "from_ms": 31536000001}]|net.faults[0].from_ms
[{"kind": "blackhole", "from_ms": 5, "to_ms": 5}]|net.faults[0]
["blackhole@0..", "nothing@0.."]|net.faults[1]
CASES

# What is read is printed in one way.
write_document '["dns_failure:*.A.example.,B.example@1500..", {"kind": "refuse", "from_ms": 0, "to_ms": 60000, "hosts": ["*:80"]}]'
run_plain "$MENACE_RUN" --dry-run --spec "$tmp/spec.json"
assert_eq "$(gojq -c .spec.net.faults <"$tmp/stdout")" \
	'[{"from_ms":1500,"hosts":["*.a.example","b.example"],"kind":"dns_failure","to_ms":null},{"from_ms":0,"hosts":["*:80"],"kind":"refuse","to_ms":60000}]'
gojq .spec <"$tmp/stdout" >"$tmp/again.json"
hash=$(gojq -r .spec_sha256 <"$tmp/stdout")
run_plain "$MENACE_RUN" --dry-run --spec "$tmp/again.json"
assert_eq "$(gojq -r .spec_sha256 <"$tmp/stdout")" "$hash"
