#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# menace export --format ecs: fields of the Elastic Common Schema with their types, one document a line
#
# sanitizers

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/store.sh"
. "$repo/tests/lib/export.sh"

need_root

put_records
menace export --format ecs
assert_exported
check ecs
assert_harmless
assert_eq "$checked" "attempt:3 bind:3 change:18 connect:8 connection:5 crash:3 degraded:3 denial:12 dns:3 event:3 exec:3 exit:3 fork:3 limit:3 oom:3 open:3 run_end:3 run_start:3 sendmsg:3 socket:3"

# pick FILTER: of the documents, by jq.
pick()
{
	gojq -c "$1" "$tmp/stdout" | sort -u
}

assert_eq "$(pick 'select(.event.action == "run_end") | [.["@timestamp"], .event.outcome, .event.reason,
	.event.duration, .process.exit_code, .menace.events_lost]')" \
	'["2026-11-28T03:20:00.000000000Z","failure","oom",1234567000,null,6]'
assert_eq "$(pick 'select(.event.action == "run_start") | [.["@timestamp"], .event.outcome, .event.reason,
	.process.start]')" '["2026-11-28T03:19:46.570847000Z",null,null,"2026-11-28T03:19:46.570847000Z"]'
assert_eq "$(pick 'select(.event.action == "connection" and .event.outcome == "failure") |
	[.event.type[0], .destination.ip, .destination.port, .menace.errno]')" \
	'["denied","192.0.2.1",443,1]
["error","192.0.2.1",443,111]'
# A datagram socket's peer is not told by a connection of TCP to the same address.
assert_eq "$(pick 'select(.event.action == "connect" and .destination.port == 443) | .network.transport')" '"tcp"
"udp"'
assert_eq "$(gojq -c 'select(.event.action == "connect" and .destination.port == 443) | .network.transport' "$tmp/stdout" |
	sort | uniq -c | tr -s ' ' | tr '\n' ' ')" ' 2 "tcp"  3 "udp" '
assert_eq "$(pick 'select(.event.action == "bind") | [.destination.ip, .destination.port, .source.ip]')" '["::1",53,null]'
assert_eq "$(pick 'select(.event.action == "change" and .event.type[0] == "deletion") | [.file.type, .file.size]')" \
	'["dir",3]'
assert_eq "$(pick 'select(.event.action == "denial") | [.event.kind, .error.code, .menace.count, .process.pid]')" \
	'["alert","EPERM",3,100]'
assert_eq "$(pick 'select(.event.action == "exec") | .process.args[0]')" '"prog\nram"'
# Numbers that a double does not hold; gojq has doubles.
assert_eq "$(grep -c '"bytes":9007199254740993,' "$tmp/stdout")" 4
assert_eq "$(grep -c '"memory_peak_bytes":9007199254740993,' "$tmp/stdout")" 3
