#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Where the first stage of a trajectory comes to no verdict (its memory is taken by the cap of all), the others have
# theirs and nothing to be compared with
#

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/store.sh"
need_root
need_cgroups
need_system_program curl

cat >"$tmp/flow.json" <<'END'
{"schema": "menace.flow/1", "name": "eats", "combined": false, "limits": {"wall_ms": "60s", "memory_max_bytes": "512Mi"},
 "stubs": {"v": {"templates": [{"votes": [1, 2]}]}},
 "test_data": {"http://votes.test/": {"stub": "v"}},
 "steps": [{"name": "ask", "program": ["sh", "-c", "curl -sS http://votes.test/ | grep -q '^{\"votes\":\\[1,2\\]}' || exit 1; head -c 90M /dev/zero | tail -c 80M | wc -c"]}]}
END
menace scenario run --trajectory "$tmp/flow.json" -s 5 --max-memory 48Mi --json --junit "$tmp/junit.xml"
cp "$tmp/stdout" "$result"
assert_eq "$(json '.trajectory.stages[] | select(.stage == "normal" or .stage == "schema_drift") | "\(.verdict) \(.roi_delta)"')" "inconclusive null
failed null"
message="string(//testcase[@name='schema_drift']/failure/@message)"
command -v xmllint >/dev/null && assert_eq "$(xmllint --xpath "$message" "$tmp/junit.xml")" \
	"worth 0.000, which cannot be compared: the first stage came to no verdict"
exit 0
