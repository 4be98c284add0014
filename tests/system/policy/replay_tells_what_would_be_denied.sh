#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# menace replay: exit 1 and a row for each thing that a policy would have denied of past runs, 0
# for none, and "unknown" where a run has no records

. "${0%/*}/../../lib/system.sh"
. "${0%/*}/../../lib/store.sh"
. "${0%/*}/../../lib/policy.sh"

need_root
need_system_program python3

learn -- sh -c 'cat /etc/hosts >/tmp/a'
assert_status 0
menace replay "$tmp/policy.json"
assert_status 0
assert_contains "$stdout" "the policy would have denied nothing of what is known"
assert_not_contains "$stdout" unknown

# A run that used more, recorded in full.
run --record-access -- sh -c 'ls /usr >/dev/null; cat /etc/passwd; mkdir /work/d'
assert_status 0
id=$(json .run_id)
menace replay "$tmp/policy.json" "$id"
assert_status 1
assert_contains "$stdout" "denied   syscalls mkdir"
assert_contains "$stdout" "denied   paths    read /etc/passwd"
assert_contains "$stdout" "denied   paths    list /usr/"
assert_contains "$stdout" "denied   execs    execute /usr/bin/ls"
menace replay --json "$tmp/policy.json" "$id"
assert_status 1
assert_eq "$(gojq -r '.denied, .runs[0].classes.execs.state, .runs[0].classes.hosts.state' "$tmp/stdout")" "true
judged
judged"
assert_contains "$(jq -c '.runs[0].classes.paths.denied' "$tmp/stdout")" '"make /work/"'

# One without records of calls and paths: unknown is not good.
run --telemetry off -- sh -c 'mkdir /work/d; sleep 0.1'
id=$(json .run_id)
menace replay --json "$tmp/policy.json" "$id"
assert_status 0
assert_eq "$(gojq -r '.runs[0].classes | "\(.syscalls.state) \(.paths.state) \(.execs.state)"' "$tmp/stdout")" \
	"unknown unknown unknown"
assert_eq "$(gojq -r '.runs[0].classes.paths.why' "$tmp/stdout")" "no paths were recorded (--record-access)"

# Limits that were exceeded, and parts that the policy does not have.
policy '"limits": {"wall_ms": 1, "nofile": 3}'
menace replay --json "$tmp/policy.json" "$id"
assert_status 1
assert_eq "$(gojq -r '.runs[0].classes | "\(.syscalls.state) \(.limits.state)"' "$tmp/stdout")" \
	"unlimited unknown"
assert_match "$(gojq -r '.runs[0].classes.limits.denied[0]' "$tmp/stdout")" \
	'^limits.wall_ms: [0-9]+ used, 1 allowed$'

# An address that cannot be read is not known, rather than allowed.
policy '"hosts": [{"host": "127.0.0.1", "port": 9, "protocol": "udp"}]'
run --net loopback -- bash -c ': >/dev/udp/127.0.0.1/9'
id=$(json .run_id)
menace replay --json "$tmp/policy.json" "$id"
assert_status 0
assert_eq "$(gojq -r '.runs[0].classes.hosts.state' "$tmp/stdout")" judged
for object in NULL "'127.0.0.1'" "'127.0.0.1:9x'" "'127.0.0.1:65536'"; do
	edit "UPDATE events SET object = $object WHERE run_id = '$id' AND type = 'connect'"
	menace replay --json "$tmp/policy.json" "$id"
	assert_eq "$(gojq -r '.runs[0].classes.hosts.why' "$tmp/stdout")" \
		"an address that was recorded cannot be read" "why, with $object"
done

# So is a program of which no whole path is known; what is known is judged all the same.
policy '"paths": [{"path": "/usr/", "access": ["read", "list", "execute"]}]'
run -- sh -c '/bin/true; exec /bin/false'
id=$(json .run_id)
menace replay --json "$tmp/policy.json" "$id"
assert_eq "$(gojq -r '.runs[0].classes.execs.state' "$tmp/stdout")" judged
for told in "object = './true', detail = json_set(detail, '\$.file_truncated', json('true'))" \
	"detail = json_remove(detail, '\$.file', '\$.file_truncated')" "object = NULL"; do
	edit "UPDATE events SET $told WHERE run_id = '$id' AND type = 'exec'
		AND json_extract(detail, '\$.argv[0]') = '/bin/true'"
	menace replay --json "$tmp/policy.json" "$id"
	assert_eq "$(jq -c '.runs[0].classes.execs | [.state, .why]' "$tmp/stdout")" \
		'["unknown","of a program no whole path was recorded"]' "why, with $told"
done

# What counts is the file that a name leads to.
policy '"paths": [{"path": "/usr/bin/true", "access": ["execute"]}]'
run -- sh -c 'ln -s /usr/bin/env /tmp/true; /tmp/true true; exec /bin/true'
id=$(json .run_id)
menace replay --json "$tmp/policy.json" "$id"
assert_status 1
assert_eq "$(jq -c '.runs[0].classes.execs | [.state, .denied]' "$tmp/stdout")" \
	'["judged",["execute /usr/bin/ln","execute /usr/bin/env"]]' "by links"

# A program that fills the list of events, and one that ends the record of what it uses, are not
# known to be good; what is left was judged.
policy '"paths": [{"path": "/usr/bin/bash", "access": ["execute"]}], "hosts": []'
cp /bin/true "$tmp/evil"
run --net loopback --ro "$tmp/evil:/opt/evil" -- \
	bash -c 'for ((i = 0; i < 8000; i++)); do : >/dev/udp/127.0.0.1/9; done; /opt/evil; exit 0'
assert_status 0
id=$(json .run_id)
assert_le 1 "$(json .telemetry.books.events_not_listed)" "events that had no room"
assert_eq "$(json '[.telemetry.events[] | select(.object == "/opt/evil")] | length')" 0 "execs that had room"
menace replay --json "$tmp/policy.json" "$id"
assert_status 1
cut="there were more events than are listed; what is left was judged"
lost="events were lost; what is left was judged"
[ "$(json .telemetry.complete)" = true ] || cut=$lost # a busy machine may lose some
assert_eq "$(jq -c '.runs[0].classes.execs' "$tmp/stdout")" \
	"{\"state\":\"unknown\",\"why\":\"$cut\",\"denied\":[]}" "execs of a cut list"
assert_eq "$(jq -c '.runs[0].classes.hosts' "$tmp/stdout")" \
	"{\"state\":\"unknown\",\"why\":\"$cut\",\"denied\":[\"udp 127.0.0.1:9\"]}" "hosts of a cut list"

cut="not all paths and hosts were recorded; what is left was judged"
policy '"paths": [{"path": "/", "access": ["read", "list", "execute"]}], "hosts": []'
run --record-access --net loopback -- bash -c 'cat /proc/self/../self/status >/dev/null; exit 0'
assert_status 0
assert_eq "$(json .access.complete)" false "complete, with a path that goes up below /proc"
id=$(json .run_id)
menace replay --json "$tmp/policy.json" "$id"
assert_eq "$(jq -c '.runs[0].classes | [.execs, .paths, .hosts | .state, .why] | unique' "$tmp/stdout")" \
	"$(jq -cn --arg cut "$cut" '[$cut, "unknown"]')" "what is not complete"
menace replay "$tmp/policy.json" "$id"
assert_contains "$stdout" "unknown  hosts    $cut"
assert_not_contains "$stdout" none

# An address that only the message has.
run --record-access --net loopback -- python3 -c 'import socket as s
s.socket(2, 2).sendmsg([b"x"], [], 0, ("127.0.0.1", 9))'
assert_status 0
menace replay --json "$tmp/policy.json" "$(json .run_id)"
assert_status 1
assert_eq "$(jq -c '.runs[0].classes.hosts | [.state, .denied]' "$tmp/stdout")" \
	'["judged",["udp 127.0.0.1:9"]]' "the host of a sendmsg"

# Hosts are known where all that tells of them was looked at.
run --net loopback -- true
id=$(json .run_id)
menace replay --json "$tmp/policy.json" "$id"
assert_eq "$(gojq -r '.runs[0].classes.hosts.state' "$tmp/stdout")" judged "hosts with all probes"
edit "UPDATE probes SET state = 'failed' WHERE run_id = '$id' AND name = 'sendmsg6'"
menace replay --json "$tmp/policy.json" "$id"
assert_eq "$(gojq -r '.runs[0].classes.hosts.state' "$tmp/stdout")" unknown "hosts without a probe"

menace replay "$tmp/policy.json" zzzz
assert_status 1
menace replay "$tmp/none"
assert_refused "$tmp/none: No such file or directory"
menace replay --since 1h "$tmp/policy.json" "$id"
assert_refused "--since and --until choose among all runs"
