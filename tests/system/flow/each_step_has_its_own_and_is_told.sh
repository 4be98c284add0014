#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Steps run in their order, see their own files, variables and mocks and nobody else's, and each is told
# with the documented numbers; what no mock answers is refused, and all steps together are run last
#

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/store.sh"
need_root
need_system_program python3
check_leaks

mkdir "$tmp/w" "$tmp/w/tree"
echo 'from a file' >"$tmp/w/data.txt"
echo 'source' >"$tmp/w/tree/there.txt"
cat >"$tmp/w/fetch.py" <<'END'
import sys, urllib.request
try:
    print(urllib.request.urlopen(sys.argv[1], timeout=20).read().decode())
except OSError as e:
    sys.exit(str(e))
END
cat >"$tmp/w/flow.json" <<'END'
{"schema": "menace.flow/1", "name": "shop", "source": "tree",
 "test_data": {"in/a.json": {"json": {"k": [1]}}, "b.txt": {"file": "data.txt"}, "empty": null,
	"bytes": {"base64": "/wA="}, "http://data.test/x": "canned"},
 "fs_mocks": {"/etc/shop.conf": "mode=test", "/usr/share/zoneinfo": {"hide": true}},
 "env": {"ALL": "everywhere"},
 "steps": [
  {"name": "look", "program": ["sh", "-c", "cat in/a.json b.txt there.txt own.txt /etc/shop.conf; wc -c <empty; wc -c <bytes; ls /usr/share/zoneinfo | wc -l; echo $ALL $TOKEN; cat; echo changed >there.txt"],
   "files": {"own.txt": "mine\n"}, "env": {"TOKEN": "sesame"}, "stdin": "typed\n"},
  {"name": "other", "program": ["sh", "-c", "cat there.txt; ls; echo [$TOKEN] $ALL"]},
  {"name": "fetch", "snippet": {"path": "fetch.py"}, "args": ["http://data.test/x"]},
  {"name": "limit", "program": ["sh", "-c", "head -c 2000000 /dev/zero >big || exit 3"], "limits": {"disk_bytes": "1Mi"}},
  {"name": "after", "program": ["true"]}]}
END
menace flow run "$tmp/w/flow.json" --json
assert_status 1
assert_eq "$stderr" ""
cp "$tmp/stdout" "$result"
assert_eq "$(json '[.schema, .flow, .status] | join(" ")')" "menace.flow-result/1 shop failed"
assert_eq "$(json '[.steps[] | .name + " " + .state] | join(", ")')" \
	"look done, other done, fetch done, limit done, after skipped, combined done"
assert_eq "$(json '.steps[0].stdout')" '{"k": [1]}from a file
source
mine
mode=test0
2
0
everywhere sesame
typed'
assert_eq "$(json '.steps[1].stdout')" 'source
b.txt
bytes
empty
in
there.txt
[] everywhere'
assert_eq "$(json '.steps[2].stdout')" canned
assert_eq "$(json '.steps[4].why')" 'step "limit" did not end well'
# Together they have the widest limit of each.
assert_eq "$(json '.steps[5].passed')" true
assert_eq "$(json '.steps[3].metrics | [.success, .exception, .failure_classification, .retry_policy] | join("; ")')" \
	"false; disk_limit; runtime_regression; retry_runtime_regression"
assert_eq "$(cat "$tmp/w/tree/there.txt")" source "the source folder"

# The keys that are documented, and none of an environment's values.
assert_eq "$(json '.modules[0] | keys | join(" ")')" \
	"coverage_files coverage_functions cpu_after cpu_before cpu_delta duration entropy_delta exception failure_classification fixtures frames memory_after memory_before memory_delta memory_peak name result retry_policy success"
assert_eq "$(json '.telemetry | keys | join(" ")')" \
	"cpu_per_module crash_frequency failure_classification_per_module handled_expected_failures lost_events memory_per_module module_fixtures peak_memory peak_memory_per_module results retry_policy_per_module synergy time_per_module"
assert_eq "$(json '.telemetry.module_fixtures["0:look"] | [.files[], .env[]] | join(" ")')" "own.txt TOKEN"
assert_eq "$(json '.telemetry.crash_frequency, .crash_count')" "0.25
1"
assert_ge "$(json '.modules[0].memory_peak')" 65536
assert_eq "$(gojq '[.modules[0].duration, .modules[0].cpu_delta] | map(. > 0)' -c "$result")" "[true,true]"

# Without a mock: refused.  All together: what one leaves the next finds.
cat >"$tmp/w/two.json" <<'END'
{"schema": "menace.flow/1", "steps": [
  {"name": "make", "program": ["sh", "-c", "echo \"it's $A\" >made"], "env": {"A": "a 'quoted' $x"}},
  {"name": "use", "program": ["sh", "-c", "cat made && echo [$A]"]}]}
END
menace flow run "$tmp/w/two.json" --json
assert_status 1
cp "$tmp/stdout" "$result"
assert_eq "$(json '[.steps[] | .passed] | join(" ")')" "true false true" "alone, alone, together"
assert_eq "$(json '.steps[2].stdout')" "it's a 'quoted' \$x
[]"
assert_eq "$(gojq -c '.telemetry.synergy | keys' "$result")" '["cpu","duration"]'
cat >"$tmp/w/net.json" <<'END'
{"schema": "menace.flow/1", "steps": [
  {"name": "fetch", "snippet": {"path": "fetch.py"}, "args": ["http://data.test/x"]}]}
END
menace flow run "$tmp/w/net.json" --no-combined --json
assert_status 1
cp "$tmp/stdout" "$result"
assert_eq "$(json '.steps[0].policy_message')" "network access disabled"
assert_eq "$(json '.steps[0].metrics.failure_classification')" policy_enforcement_event

# Edge cases are acted upon: one is never answered, another ends without a byte.
cat >"$tmp/w/edge.py" <<'END'
import os, urllib.request
print(*sorted(os.listdir(".")))
for name in ("malformed", "empty", "null", "invalid", "timeout"):
    patience = 2 if name == "timeout" else 20
    try:
        print(name, urllib.request.urlopen("http://edge-case.test/" + name, timeout=patience).read())
    except OSError as e:
        print(name, type(e).__name__)
END
cat >"$tmp/w/edge.json" <<'END'
{"schema": "menace.flow/1", "inject_edge_cases": true, "combined": false, "test_data": {"timeout": "mine"},
 "steps": [{"snippet": {"path": "edge.py"}}, {"program": ["cat", "timeout", "null.txt"]}]}
END
SANDBOX_EC_INVALID_FORMATS=off menace flow run "$tmp/w/edge.json" --json
assert_status 0
cp "$tmp/stdout" "$result"
assert_match "$(json '.steps[0].stdout')" "^empty.txt malformed.json null.txt timeout
malformed b'\\{\"key\": \"value\",\\}'
empty b''
null [A-Za-z]*(Reset|Disconnected|URLError)[A-Za-z]*
invalid [A-Za-z]*Error
timeout [A-Za-z]*(Timeout|timeout|URLError)[A-Za-z]*"
assert_eq "$(json '.steps[1].stdout')" mine

# A sandbox that cannot be made is nobody's failure.
printf '{"schema": "menace.flow/1", "combined": false, "steps": [{"program": ["/nowhere"]}]}' >"$tmp/w/none.json"
menace flow run "$tmp/w/none.json" --json
assert_status 125
assert_eq "$(gojq -r .status <<<"$stdout")" error

# What is over leaves nothing beside the store.
assert_eq "$(find "$store.flows" -mindepth 1)" "" "left of the runs"
assert_eq "$("$MENACE" query 'SELECT name, state, passed FROM flow_steps WHERE flow_run IN (SELECT flow_run FROM flow_runs WHERE name = '"'shop'"') ORDER BY n' --json | gojq -rs 'map([.name, .state, .passed | tostring] | join(" ")) | join(", ")')" \
	"look done 1, other done 1, fetch done 1, limit done 0, after skipped 0, combined done 1"
