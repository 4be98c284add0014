#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# menace export --format ocsf: each line has what OCSF 1.8.0 requires of its class, with facts of real
# runs and with those of every table
#
# sanitizers

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/store.sh"
. "$repo/tests/lib/export.sh"

need_root
need_cgroups

# pick FILTER: of the events, by jq.
pick()
{
	gojq -c "$1" "$tmp/stdout"
}

make_runs
menace export --format ocsf
assert_status 0
check ocsf
assert_harmless
assert_match "$checked" '1001:[0-9]+ 1007:[0-9]+ 2004:[0-9]+'
assert_eq "$(pick 'select(.metadata.event_code == "run_end") | .status_detail' | tr '\n' ' ')" \
	'"exited" "exited" "signaled" "oom" "exited" "exited" '
assert_eq "$(pick 'select(.metadata.event_code == "run_end") | .exit_code' | tr '\n' ' ')" \
	"0 4 null null 32 0 "
assert_eq "$(pick 'select(.metadata.event_code == "oom") | [.class_uid, .evidences[0].data.oom_kills > 0]')" \
	"[2004,true]"
assert_eq "$(pick 'select(.metadata.event_code == "denial" and .evidences[0].data.what == "mount")
	| [.type_uid, .action_id, .evidences[0].data.errno] ' | head -n 1)" '[200401,2,"EPERM"]'
assert_eq "$(pick 'select(.metadata.event_code == "change") | [.activity_id, .file.size, .file.hashes[0].algorithm_id]' |
	sort -u)" '[1,2,3]'
# The chain: as the database has it.
assert_eq "$(pick '.unmapped.menace_integrity.attestation_list[0] | [.uid, .fingerprint.value]' | uniq)" \
	"$("$MENACE" query --json "SELECT seq, hash FROM chain ORDER BY seq" | gojq -c '[(.seq | tostring), .hash]')"
assert_eq "$(pick '.unmapped.menace_integrity.attestation_list[0].prev_event.fingerprint.value' | uniq |
	head -n 2 | tail -n 1)" "\"$("$MENACE" query --json "SELECT hash FROM chain WHERE seq = 1" | gojq -r .hash)\""
assert_eq "$(pick '.unmapped.menace_integrity.attestation_list[0].chain_uid' | sort -u)" \
	"\"$("$MENACE" query --json "SELECT value FROM store_info WHERE name = 'id'" | gojq -r .value)\""

store=$tmp/kept/other.db
export MENACE_STORE=$store
put_records
menace export --format ocsf
assert_exported
check ocsf
assert_eq "$checked" "0:3 1001:21 1007:15 2004:27 4001:22 4003:3"
assert_eq "$(pick 'select(.metadata.event_code == "connection")
	| [.activity_id, .status_id, .dst_endpoint.ip]' | sort | tr '\n' ' ')" \
	'[1,1,"192.0.2.1"] [1,1,null] [1,99,"192.0.2.1"] [4,2,"192.0.2.1"] [5,2,"192.0.2.1"] '
# A number that a double does not hold; gojq has doubles.
assert_eq "$(grep -c '"bytes_out":9007199254740993,' "$tmp/stdout")" 4
assert_eq "$(pick 'select(.metadata.event_code == "connect" and .dst_endpoint.port == 80) | [.dst_endpoint, .connection_info]' | sort -u)" \
	'[{"ip":"127.0.0.1","port":80},{"direction_id":2,"protocol_name":"tcp","protocol_num":6,"protocol_ver_id":4}]'
assert_eq "$(pick 'select(.class_uid == 4003) | [.query.type, (.query.hostname | length)]' | sort -u)" '["AAAA",36]'
assert_eq "$(pick 'select(.metadata.event_code == "exec") | (.process.cmd_line | length)' | sort -n | tail -n 1)" \
	131118
assert_eq "$(pick 'select(.metadata.event_code == "exec") | .launch_type_id' | sort -u)" 3
assert_eq "$(pick 'select(.metadata.event_code == "exit") | [.exit_code, .process.pid, .process.terminated_time]' |
	sort -u)" '[7,100,1795835999900]'
assert_eq "$(pick 'select(.metadata.event_code == "crash") | .evidences[0].data.frames' | sort -u)" '["0x1","0x2"]'
# What it does not know has no class of its own, and is not lost.
assert_eq "$(pick 'select(.class_uid == 0) | .unmapped.menace.depth' | sort -u)" '{"a":[1,2.5,null,true]}'
