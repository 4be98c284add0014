#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# menace replay: exit 1 and a row for each thing that a policy would have denied of past runs, 0
# for none, and "unknown" where a run has no records
#
# any kernel

. "$(dirname "$0")/../../lib/system.sh"
. "$(dirname "$0")/../../lib/store.sh"
. "$(dirname "$0")/../../lib/policy.sh"

need_root

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
assert_eq "$(jq -r '.denied, .runs[0].classes.execs.state, .runs[0].classes.hosts.state' "$tmp/stdout")" "true
judged
judged"
assert_contains "$(jq -c '.runs[0].classes.paths.denied' "$tmp/stdout")" '"make /work/"'

# One without records of calls and paths: unknown is not good.
run --telemetry off -- sh -c 'mkdir /work/d; sleep 0.1'
id=$(json .run_id)
menace replay --json "$tmp/policy.json" "$id"
assert_status 0
assert_eq "$(jq -r '.runs[0].classes | "\(.syscalls.state) \(.paths.state) \(.execs.state)"' "$tmp/stdout")" \
	"unknown unknown unknown"
assert_eq "$(jq -r '.runs[0].classes.paths.why' "$tmp/stdout")" "no paths were recorded (--record-access)"

# Limits that were exceeded, and parts that the policy does not have.
policy '"limits": {"wall_ms": 1, "nofile": 3}'
menace replay --json "$tmp/policy.json" "$id"
assert_status 1
assert_eq "$(jq -r '.runs[0].classes | "\(.syscalls.state) \(.limits.state)"' "$tmp/stdout")" \
	"unlimited unknown"
assert_match "$(jq -r '.runs[0].classes.limits.denied[0]' "$tmp/stdout")" \
	'^limits.wall_ms: [0-9]+ used, 1 allowed$'

# An address that cannot be read is not known, rather than allowed.
policy '"hosts": [{"host": "127.0.0.1", "port": 9, "protocol": "udp"}]'
run --net loopback -- bash -c ': >/dev/udp/127.0.0.1/9'
id=$(json .run_id)
menace replay --json "$tmp/policy.json" "$id"
assert_status 0
assert_eq "$(jq -r '.runs[0].classes.hosts.state' "$tmp/stdout")" judged
for object in NULL "'127.0.0.1'" "'127.0.0.1:9x'" "'127.0.0.1:65536'"; do
	edit "UPDATE events SET object = $object WHERE run_id = '$id' AND type = 'connect'"
	menace replay --json "$tmp/policy.json" "$id"
	assert_eq "$(jq -r '.runs[0].classes.hosts.why' "$tmp/stdout")" \
		"an address that was recorded cannot be read" "why, with $object"
done

# So is a program of which no whole path is known; what is known is judged all the same.
policy '"paths": [{"path": "/usr/", "access": ["read", "list", "execute"]}]'
run -- sh -c '/bin/true; exec /bin/false'
id=$(json .run_id)
menace replay --json "$tmp/policy.json" "$id"
assert_eq "$(jq -r '.runs[0].classes.execs.state' "$tmp/stdout")" judged
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

menace replay "$tmp/policy.json" zzzz
assert_status 1
menace replay "$tmp/none"
assert_refused "$tmp/none: No such file or directory"
menace replay --since 1h "$tmp/policy.json" "$id"
assert_refused "--since and --until choose among all runs"
