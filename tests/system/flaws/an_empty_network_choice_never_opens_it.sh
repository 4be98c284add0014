#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# CVE-2025-66479: an empty list of allowed domains meant "no network sandbox"
# security
# sanitizers

. "${0%/*}/../../lib/system.sh"

for mode in "" " " all off true 1 hos "none " none,host bridge; do
	run --net "$mode" -- true
	assert_refused "--net" "accepted: none, loopback, stub, allowlist, host"
	run -s "net.mode=$mode" -- true
	assert_refused "net.mode" "accepted: none, loopback, stub, allowlist, host"
done
for mode in '""' null true '[]' '{}' '["none"]' 0 '"hosts"'; do
	printf '{"schema":"menace.spec/1","program":["true"],"net":{"mode":%s}}' "$mode" >"$tmp/spec.json"
	run --spec "$tmp/spec.json"
	assert_refused "net.mode"
done
for net in null '[]' '""' false; do
	printf '{"schema":"menace.spec/1","program":["true"],"net":%s}' "$net" >"$tmp/spec.json"
	run --spec "$tmp/spec.json"
	assert_refused "net"
done
# Lists that this version does not know, or that the mode has no use for, are refused, not passed over.
for net in '{"allowed_domains":[]}' '{"mode":"allowlist","allowed":["example.com"]}'; do
	printf '{"schema":"menace.spec/1","program":["true"],"net":%s}' "$net" >"$tmp/spec.json"
	run --spec "$tmp/spec.json"
	assert_refused "net: unknown key \"allow"
done
for net in '{"allow":["example.com"]}' '{"mode":"host","allow":["example.com"]}'; do
	printf '{"schema":"menace.spec/1","program":["true"],"net":%s}' "$net" >"$tmp/spec.json"
	run --spec "$tmp/spec.json"
	assert_refused "net.allow: rules are for net.mode=allowlist alone"
done
# An empty list is no network, whether the mode asks for one or not.
for net in '{"allow":[]}' '{"mode":"none","allow":[]}'; do
	printf '{"schema":"menace.spec/1","program":["true"],"net":%s}' "$net" >"$tmp/spec.json"
	run --spec "$tmp/spec.json"
	assert_status 0
	assert_eq "$(json '.receipt.network | "\(.mode) \(.routes)"')" "none 0" "network"
done

# Absent and empty are none.
for net in '' ',"net":{}'; do
	printf '{"schema":"menace.spec/1","program":["cat","/proc/net/route"]%s}' "$net" >"$tmp/spec.json"
	run --spec "$tmp/spec.json"
	assert_status 0
	assert_eq "$(json '.receipt.network.mode + " " + (.receipt.network.routes | tostring)')" "none 0" \
		"network for '$net'"
done
