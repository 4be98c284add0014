#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# A plugin makes up a value in a sandbox, with little time and memory and no network; whatever goes wrong
# with it is told, and nothing is run in place of it
#
# security

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/store.sh"
need_root
need_cgroups
need_system_program python3
check_leaks

export TMPDIR=$tmp/temporary
mkdir "$tmp/w" "$TMPDIR"
echo of-the-host >"$tmp/w/secret"
cat >"$tmp/w/plugin" <<END
#!/usr/bin/python3
import json, os, sys
r = json.load(sys.stdin)
seen = [os.path.exists(path) for path in ("$tmp/w/secret", "/proc/1/root$tmp/w/secret", "$store")]
print(json.dumps({"stubs": ["%d-%s-%s-%s" % (r["seed"], r["target"]["step"], r["stubs"][0], any(seen))]}))
END
cat >"$tmp/w/flow.json" <<'END'
{"schema": "menace.flow/1", "name": "asks", "combined": false,
 "stubs": {"word": {"templates": ["base"], "strategy": "plugin:plugin"}},
 "steps": [{"name": "say", "program": ["echo", "{{stub:word}}"]}]}
END
# On the host it sees what it looks for.
assert_eq "$(python3 "$tmp/w/plugin" <<<'{"seed": 1, "target": {"step": "s"}, "stubs": ["x"]}')" \
	'{"stubs": ["1-s-x-True"]}'
menace flow run "$tmp/w/flow.json" --seed 5 --json
assert_status 0
cp "$tmp/stdout" "$result"
assert_eq "$(json '.steps[0].stdout')" "5-say-base-False"
assert_eq "$(gojq -c '.steps[0].inputs[0] | [.strategy, .id, .value]' "$result")" '["plugin","plugin","5-say-base-False"]'
# In the store it is as any other run, and the workflow has its program with it.
assert_eq "$("$MENACE" query "SELECT count(*) AS n FROM runs WHERE name = 'plugin'" --json)" '{"n":1}'
id=$("$MENACE" flow add "$tmp/w/flow.json" --store "$store")
rm "$tmp/w/plugin"
menace flow run "$id" --seed 5 --json
assert_eq "$(gojq -r '.steps[0].inputs[0].value' <<<"$stdout")" "5-say-base-False"

# Each of an order is the program that it names, not another that is named elsewhere.
cat >"$tmp/w/order.json" <<'END'
{"schema": "menace.flow/1", "name": "order", "combined": false, "stubs": {"word": {"type": "str"}},
 "steps": [{"name": "say", "program": ["echo", "{{stub:word}}"]}]}
END
for name in A B; do
	printf '#!/bin/sh\necho "{\\"stubs\\": [\\"of-%s\\"]}"\n' "$name" >"$tmp/w/$name"
done
SANDBOX_STUB_MODEL=plugin:$tmp/w/B SANDBOX_STUB_STRATEGY_ORDER="history, plugin:$tmp/w/A" \
	menace flow run "$tmp/w/order.json" --seed 5 --json
assert_status 0
assert_eq "$(gojq -r '.steps[0].stdout' <<<"$stdout")" "of-A"
assert_eq "$(gojq -r '.steps[0].inputs[0].id' <<<"$stdout")" "$tmp/w/A"
SANDBOX_STUB_STRATEGY_ORDER="smart,plugin:$tmp/w/none" menace flow run "$tmp/w/order.json" --seed 5
assert_refused "SANDBOX_STUB_STRATEGY_ORDER: plugin:$tmp/w/none: open $tmp/w/none: No such file or directory"

# fails WORDS MESSAGE: a plugin that is a shell script of these words.
fails()
{
	printf '#!/bin/sh\n%s\n' "$1" >"$tmp/w/bad"
	menace flow run "$id" --seed 5 --stub-strategy "plugin:$tmp/w/bad"
	assert_status 125
	assert_contains "$stderr" "stub \"word\": plugin: $2"
}
n=$("$MENACE" query 'SELECT count(*) AS n FROM flow_steps' --json)
fails 'echo 1' "its reply: a number where an object is expected"
fails 'echo "{\"stubs\": [1, 2]}"' "its reply: stubs is a list of one value"
fails 'echo "{\"stubs\": [\"a\\u0000b\"]}"' \
	"its value of 3 bytes does not go into an argument or a variable: it has a NUL byte"
fails 'echo "{\"stubs\": [\"$(head -c 40000 /dev/zero | tr "\\0" x)\"]}"' \
	"its value of 40000 bytes does not go into an argument or a variable: at most 32768 bytes do"
fails 'head -c 2000000 /dev/zero' "it was ended: output_limit"
fails 'echo no >&2; exit 4' 'it exited with status 4: "no\n"'
fails 'exec python3 -c "bytearray(10 ** 9)"' "it was ended: oom"
fails 'sleep 60' "it was ended: wall_timeout: it has 5000 ms"
assert_eq "$("$MENACE" query 'SELECT count(*) AS n FROM flow_steps' --json)" "$n" "something was run"
menace flow run "$id" --stub-strategy "plugin:$tmp/w/nothing"
assert_contains "$stderr" "plugin:$tmp/w/nothing: open $tmp/w/nothing: No such file or directory"

# A server that anybody on the host reaches; a plugin does not.
cat >"$tmp/server.py" <<'END'
import os, socket, sys
server = socket.create_server(("127.0.0.1", 0))
with open(sys.argv[1] + ".part", "w") as file:
    file.write(str(server.getsockname()[1]))
os.rename(sys.argv[1] + ".part", sys.argv[1])
while True:
    server.accept()[0].close()
    with open(sys.argv[1] + ".met", "a") as file:
        file.write("x")
END
python3 "$tmp/server.py" "$tmp/port" &
server=$!
stop_server()
{
	kill "$server"
	wait "$server" 2>/dev/null
}
at_exit stop_server
wait_until 20 test -s "$tmp/port" || fail "no server"
connect="import socket; socket.create_connection((\"127.0.0.1\", $(<"$tmp/port")))"
python3 -c "$connect" || fail "the server cannot be reached"
wait_until 20 test -s "$tmp/port.met" || fail "the server met nobody"
printf '#!/usr/bin/python3\ntry:\n    %s\n    print(1)\nexcept OSError as e:\n    raise SystemExit("failed: %%d" %% e.errno)\n' \
	"$connect" >"$tmp/w/bad"
menace flow run "$id" --seed 5 --stub-strategy "plugin:$tmp/w/bad"
assert_status 125
assert_match "$stderr" 'stub "word": plugin: it exited with status 1: "failed: (101|111)'
assert_eq "$(<"$tmp/port.met")" x "who was met"

assert_eq "$(find "$TMPDIR" -mindepth 1)" "" "left of the plugins"
