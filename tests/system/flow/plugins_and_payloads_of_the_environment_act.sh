#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Plugins that the environment lists are given each ordinary value, one after the other, in a sandbox;
# payloads that it lists are among those of the strategy hostile, named by what they are; lists that are
# none are refused
#

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/store.sh"
need_root
need_cgroups
need_system_program python3
check_leaks

mkdir "$tmp/w"
echo of-the-host >"$tmp/w/secret"
for name in A B; do
	cat >"$tmp/w/$name" <<-END
		#!/usr/bin/python3
		import json, os, sys
		r = json.load(sys.stdin)
		print(json.dumps({"stubs": ["%s$name%s%s" % (r["stubs"][0], r["strategy"], os.path.exists("$tmp/w/secret"))]}))
	END
done
cat >"$tmp/w/flow.json" <<'END'
{"schema": "menace.flow/1", "name": "asks", "combined": false, "stubs": {"word": {"templates": ["base"]}},
 "steps": [{"name": "say", "program": ["cat"], "stdin": {"stub": "word"}}]}
END

# flow WORDS...: a run of it; what went in, as it was recorded, is in $input.
flow()
{
	menace flow run "$tmp/w/flow.json" --json "$@"
	assert_status 0
	input=$(gojq -c '.steps[0].inputs[0]' <<<"$stdout")
}

export SANDBOX_STUB_PLUGINS=$tmp/w/A::$tmp/w/B
flow --seed 5
assert_eq "$(gojq -r '.steps[0].stdout' <<<"$stdout")" '"baseAtemplatesFalseBtemplatesFalse"' "through both"
assert_eq "$(gojq -r '"\(.strategy) \(.plugins)"' <<<"$input")" "templates $SANDBOX_STUB_PLUGINS"
assert_eq "$("$MENACE" query "SELECT count(*) AS n FROM runs WHERE name = 'plugin'" --json)" '{"n":2}'
assert_eq "$(grep -c SANDBOX_ <<<"$stderr")" 0 "warnings of variables that act"
flow --seed 5 --stub-strategy hostile
assert_eq "$(gojq .plugins <<<"$input")" null "plugins of what means ill"
SANDBOX_STUB_PLUGINS=$tmp/w/none menace flow run "$tmp/w/flow.json"
assert_refused "SANDBOX_STUB_PLUGINS: plugin:$tmp/w/none: open $tmp/w/none: No such file or directory"
printf '#!/bin/sh\nexit 3\n' >"$tmp/w/bad"
SANDBOX_STUB_PLUGINS=$tmp/w/bad menace flow run "$tmp/w/flow.json"
assert_ne "$status" 0
assert_contains "$stderr" "stub \"word\": $tmp/w/bad: plugin: it exited with status 3"
unset SANDBOX_STUB_PLUGINS

# meets ID: is there a seed of the first ones by which it is the payload?  Its record is in $input.
meets()
{
	local seed

	for seed in {1..30}; do
		flow --seed "$seed" --stub-strategy hostile
		[ "$(gojq -r .id <<<"$input")" = "$1" ] && return
	done
	return 1
}

# A class is one of a dozen; as many payloads as there may be are met soon.
python3 -c 'import json; print(json.dumps(["mine0" for i in range(255)]))' >"$tmp/w/payloads"
hash=$(printf mine0 | sha256sum)
export SANDBOX_HOSTILE_PAYLOADS_FILE=$tmp/w/payloads SANDBOX_HOSTILE_PAYLOADS='[42]'
meets "file-${hash:0:16}" || fail "no payload of the file was met"
assert_eq "$(gojq -r '"\(.class) \(.sha256) \(.raw)"' <<<"$input")" "own ${hash%% *} true"
assert_eq "$(gojq -r '.steps[0].stdout' <<<"$stdout")" mine0 "what the program read"
unset SANDBOX_HOSTILE_PAYLOADS_FILE
SANDBOX_HOSTILE_PAYLOADS=$(cat "$tmp/w/payloads")
meets "variable-${hash:0:16}" || fail "no payload of the variable was met"

# refuses WORDS: what the payloads of the environment are refused with.
refuses()
{
	menace flow run "$tmp/w/flow.json" --stub-strategy hostile
	assert_refused "$1"
}
SANDBOX_HOSTILE_PAYLOADS='[1, [2]]'
refuses "[1]: a payload is a text, a number, a boolean or null"
SANDBOX_HOSTILE_PAYLOADS='{"a": 1}'
refuses "SANDBOX_HOSTILE_PAYLOADS: an object where a list is expected"
SANDBOX_HOSTILE_PAYLOADS=$(python3 -c 'print([1] * 257)')
refuses "there are more than 256 payloads"
unset SANDBOX_HOSTILE_PAYLOADS
export SANDBOX_HOSTILE_PAYLOADS_FILE=$tmp/w/pipe
refuses "open $tmp/w/pipe: No such file or directory"
mkfifo "$tmp/w/pipe"
refuses "$tmp/w/pipe is not a regular file"
SANDBOX_HOSTILE_PAYLOADS_FILE=$tmp/w/large
truncate -s 1048577 "$tmp/w/large"
refuses "$tmp/w/large has 1048577 bytes; at most 1048576 are accepted"

# A matrix has them as they were when it began, and refuses there what is none.
menace scenario run "$tmp/w/flow.json" --scenarios normal --json
assert_refused "$tmp/w/large has 1048577 bytes"
