#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# A cell passes or fails by conditions that were in force; what was asked for and did not happen, or met
# nothing, is inconclusive, whatever the program did
#
# any kernel

. "$(dirname "$0")/../../lib/system.sh"
. "$repo/tests/lib/store.sh"
need_root
need_cgroups
need_system_program python3

cat >"$tmp/net.py" <<'END'
import socket
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.bind(("127.0.0.1", 0))
s.settimeout(0.3)
for i in range(8):
    s.sendto(b"x", s.getsockname())
got = 0
try:
    while s.recv(10):
        got += 1
except OSError:
    pass
raise SystemExit(got != 8)
END
cat >"$tmp/flow.json" <<'END'
{"schema": "menace.flow/1", "name": "planted", "combined": false, "net": {"mode": "loopback"},
 "limits": {"disk_bytes": "64Mi"},
 "steps": [{"name": "write", "program": ["sh", "-c", "head -c 3000000 /dev/zero >big"]},
	{"name": "talk", "snippet": {"path": "net.py"}}]}
END
presets='[{"SCENARIO_NAME": "disk", "DISK_LIMIT": "1Mi"}, {"SCENARIO_NAME": "roomy", "DISK_LIMIT": "32Mi"},
	{"SCENARIO_NAME": "lost", "PACKET_LOSS": "100%"}, {"SCENARIO_NAME": "label", "PAYLOAD_INDICATOR": "x"}]'
menace scenario run "$tmp/flow.json" -p "$presets" -s 3 --json --junit "$tmp/junit.xml" --html "$tmp/page.html"
assert_status 1
cp "$tmp/stdout" "$result"
verdicts=$(json '[.scenarios[] | .name + " " + .verdict] | join(", ")')
assert_eq "$verdicts" "disk failed, roomy passed, lost failed, label inconclusive"
cell()
{
	jq -c ".cells[] | select(.scenario == \"$1\" and .arm == \"$2\") | $3" "$result"
}
assert_eq "$(cell disk on .failed_because)" '"step \"write\": disk_limit"'
assert_eq "$(cell disk on '.in_force["limits.disk_bytes"].limit')" 1048576
assert_eq "$(cell disk off '[.verdict, .in_force]')" '["passed",{}]'
assert_eq "$(cell lost on '[.failed_because, .in_force.link.loss_percent]')" \
	'["step \"talk\": exited with status 1",100]'
assert_eq "$(cell label on .why)" '["PAYLOAD_INDICATOR is not enforced by this version"]'
assert_eq "$(cell label on '.copies_passed')" 1 "it ended well, and yet"
assert_eq "$(json '.status, .worst_scenario')" "weak
disk"
assert_eq "$(json '.scenarios[0].roi_delta')" -1

# The same seed, the same verdicts.
menace scenario run "$tmp/flow.json" -p "$presets" -s 3 --json -j 2
cp "$tmp/stdout" "$result"
assert_eq "$(json '[.scenarios[] | .name + " " + .verdict] | join(", ")')" "$verdicts"

# A link that nothing goes over proves nothing.
menace scenario run -p '{"PACKET_LOSS": "50%"}' --json -- true
assert_status 7
cp "$tmp/stdout" "$result"
assert_eq "$(json '.cells[] | select(.arm == "on") | .why | join("; ")')" "no packet went over the link"
# Nothing can be said of what could not even begin.
menace scenario run --scenarios normal --json -- /nowhere
assert_status 125
assert_eq "$(jq -c .counts <<<"$stdout")" '{"passed":0,"failed":0,"inconclusive":0,"error":2}'

xmllint --noout "$tmp/junit.xml" 2>/dev/null || ! command -v xmllint >/dev/null || fail "no XML"
assert_contains "$(cat "$tmp/junit.xml")" '<testsuite name="planted" tests="8" failures="2" errors="0" skipped="1">'
assert_contains "$(cat "$tmp/page.html")" "<td class=\"failed\">failed</td>"
assert_eq "$(grep -c '<svg ' "$tmp/page.html")" 3
assert_not_contains "$(sed 's/ xmlns="[^"]*"//' "$tmp/page.html")" "://"
