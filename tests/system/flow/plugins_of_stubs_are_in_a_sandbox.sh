#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# A plugin makes up a value in a sandbox, with little time and memory and no network; whatever goes wrong
# with it is told, and nothing is run in place of it
#
# any kernel

. "$(dirname "$0")/../../lib/system.sh"
. "$repo/tests/lib/store.sh"
need_root
need_cgroups
need_system_program python3
check_leaks
# serial

mkdir "$tmp/w"
echo of-the-host >"$tmp/w/secret"
cat >"$tmp/w/plugin" <<'END'
#!/usr/bin/python3
import json, os, sys
r = json.load(sys.stdin)
seen = os.path.exists(os.environ.get("W", "") + "/secret") or os.path.exists("/proc/1/root/etc/shadow")
print(json.dumps({"stubs": ["%d-%s-%s-%s" % (r["seed"], r["target"]["step"], r["stubs"][0], seen)]}))
END
cat >"$tmp/w/flow.json" <<'END'
{"schema": "menace.flow/1", "name": "asks", "combined": false,
 "stubs": {"word": {"templates": ["base"], "strategy": "plugin:plugin"}},
 "steps": [{"name": "say", "program": ["echo", "{{stub:word}}"]}]}
END
menace flow run "$tmp/w/flow.json" --seed 5 --json
assert_status 0
cp "$tmp/stdout" "$result"
assert_eq "$(json '.steps[0].stdout')" "5-say-base-False"
assert_eq "$(jq -c '.steps[0].inputs[0] | [.strategy, .id, .value]' "$result")" '["plugin","plugin","5-say-base-False"]'
# In the store it is as any other run, and the workflow has its program with it.
assert_eq "$("$MENACE" query "SELECT count(*) AS n FROM runs WHERE name = 'plugin'" --json)" '{"n":1}'
id=$("$MENACE" flow add "$tmp/w/flow.json" --store "$store")
rm "$tmp/w/plugin"
menace flow run "$id" --seed 5 --json
assert_eq "$(jq -r '.steps[0].inputs[0].value' <<<"$stdout")" "5-say-base-False"

# fails WORDS MESSAGE: a plugin that is a shell script of these words.
fails()
{
	printf '#!/bin/sh\n%s\n' "$1" >"$tmp/w/bad"
	menace flow run "$id" --seed 5 --stub-strategy "plugin:$tmp/w/bad"
	assert_status 125
	assert_contains "$stderr" "stub \"word\": plugin: $2"
}
n=$("$MENACE" query 'SELECT count(*) AS n FROM flow_steps' --json)
fails 'echo 1' "its reply:"
fails 'echo "{\"stubs\": [1, 2]}"' "its reply: stubs is a list of one value"
fails 'echo "{\"stubs\": [\"a\\u0000b\"]}"' "its value does not go into an argument or a variable"
fails 'head -c 2000000 /dev/zero' "it was ended: output_limit"
fails 'echo no >&2; exit 4' 'it exited with status 4: "no\n"'
fails 'exec python3 -c "bytearray(10 ** 9)"' "it"
fails 'exec python3 -c "import socket; socket.create_connection((\"127.0.0.1\", 9))"' "it exited with status"
fails 'sleep 60' "it was ended: wall_timeout"
assert_eq "$("$MENACE" query 'SELECT count(*) AS n FROM flow_steps' --json)" "$n" "something was run"
menace flow run "$id" --stub-strategy "plugin:$tmp/w/nothing"
assert_contains "$stderr" "plugin:$tmp/w/nothing: open $tmp/w/nothing: No such file or directory"
assert_eq "$(find "${TMPDIR:-/tmp}" -maxdepth 1 -name 'menace-plugin.*')" "" "left of the plugins"
