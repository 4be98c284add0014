#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# A cell passes or fails by conditions that were in force; what was asked for and did not happen, or met
# nothing, is inconclusive, whatever the program did
#

. "${0%/*}/../../lib/system.sh"
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
menace scenario run "$tmp/flow.json" -p "$presets" -s 3 --slo 1h --json --junit "$tmp/junit.xml" --html "$tmp/page.html"
assert_status 1
cp "$tmp/stdout" "$result"
verdicts=$(json '[.scenarios[] | .name + " " + .verdict] | join(", ")')
assert_eq "$verdicts" "disk failed, roomy passed, lost failed, label inconclusive"
cell()
{
	gojq -c ".cells[] | select(.scenario == \"$1\" and .arm == \"$2\") | $3" "$result"
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
menace scenario run "$tmp/flow.json" -p "$presets" -s 3 --slo 1h --json -j 2
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
assert_eq "$(gojq -c .counts <<<"$stdout")" '{"error":2,"failed":0,"inconclusive":0,"passed":0}'

# Each condition is met in a step, and none in all of them.
sed 's/>big"/>big || true"/' "$tmp/flow.json" >"$tmp/each.json"
menace scenario run "$tmp/each.json" -p '{"FAILURE_MODES": "disk", "PACKET_LOSS": "5%"}' -s 3 --slo 1h --json
cp "$tmp/stdout" "$result"
assert_eq "$(json '.cells[] | select(.arm == "on") | [(.why | length), (.in_force.disk.fired > 0), .in_force.link.loss_percent] | join(" ")')" \
	"0 true 5"
# What chance kept away was not there.
menace scenario run -p '{"FAILURE_MODES": "disk", "THREAT_INTENSITY": 0}' --json -- sh -c 'echo 1 >f; echo 2 >>f'
assert_status 7
cp "$tmp/stdout" "$result"
assert_eq "$(json '.cells[] | select(.arm == "on") | .why | join("; ")')" \
	"disk happened on none of 2 occasions; another seed, more replicates or a higher level may do it"
# A number of copies is a number, as a text too; more than there can be is refused before anything runs.
menace scenario run -p '{"CONCURRENCY_LEVEL": "4"}' --json -- true
cp "$tmp/stdout" "$result"
assert_eq "$(json '.cells[] | select(.arm == "on") | .copies_asked')" 4
menace scenario run -p '{"CONCURRENCY_LEVEL": 101, "CONCURRENCY_MULTIPLIER": "100"}' -- true
assert_status 2
assert_contains "$stderr" "CONCURRENCY_MULTIPLIER: 101 copies times 100"

# Who asks nobody without a credential has met that there is none.
cat >"$tmp/keys.json" <<'END'
{"schema": "menace.flow/1", "name": "keys", "combined": false, "env": {"API_KEY": "k"},
 "network_mocks": {"http://api.example/": "body:x"},
 "steps": [{"name": "ask", "program": ["sh", "-c", "test -n \"$API_KEY\""]}]}
END
menace scenario run "$tmp/keys.json" -p '{"BROKEN_AUTH": true}' --json
assert_status 1
cp "$tmp/stdout" "$result"
assert_eq "$(json '.cells[] | select(.arm == "on") | [.failed_because, .in_force.flaky_upstream.credentials[]] | join(" ")')" \
	'step "ask": exited with status 1 API_KEY'

xmllint --noout "$tmp/junit.xml" 2>/dev/null || ! command -v xmllint >/dev/null || fail "no XML"
assert_contains "$(cat "$tmp/junit.xml")" '<testsuite name="planted" tests="8" failures="2" errors="0" skipped="1">'
assert_contains "$(cat "$tmp/page.html")" "<td class=\"failed\">failed</td>"
assert_eq "$(grep -c '<svg ' "$tmp/page.html")" 3
assert_not_contains "$(sed 's/ xmlns="[^"]*"//' "$tmp/page.html")" "://"
