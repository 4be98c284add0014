#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# --spec FILE and - : program or snippet, arguments, environment, mounts, knobs
#
# sanitizers

. "${0%/*}/../../lib/system.sh"

need_root
need_system_program python3

mkdir "$tmp/data"
echo data >"$tmp/data/file"
cat >"$tmp/spec" <<END
{
  "schema": "menace.spec/1",
  "name": "whole",
  "snippet": {"code": "import os,sys; print(sys.argv[1:], os.environ['A'], open('/data/file').read().strip(), os.getcwd())",
              "lang": "python"},
  "args": ["x", "y z"],
  "env": {"A": "b"},
  "mounts": [{"type": "ro", "source": "$tmp/data", "dest": "/data"}],
  "limits": {"wall_ms": "1m", "memory_max_bytes": "64Mi", "cpus": 0.5},
  "sandbox": {"cwd": "/tmp"}
}
END
run --spec "$tmp/spec"
assert_status 0
assert_eq "$stdout" "['x', 'y z'] b data /tmp"
assert_eq "$(json .name)" whole
assert_eq "$(json '[.limits.wall_ms, .limits.memory_max_bytes, .limits.cpus] | @csv')" 60000,67108864,0.5

run --spec - <"$tmp/spec"
assert_eq "$status:$stdout" "0:['x', 'y z'] b data /tmp" "from standard input"

# refused TEXT DOCUMENT
refused()
{
	printf '%s' "$2" >"$tmp/bad"
	run_plain "$MENACE_RUN" --spec "$tmp/bad"
	assert_refused "$tmp/bad" "$1"
}
refused schema '{"program": ["true"]}'
refused schema '{"schema": "menace.spec/2", "program": ["true"]}'
refused progam '{"schema": "menace.spec/1", "progam": ["true"]}'
refused 'limits: unknown key "pids_mx"; did you mean "pids_max"?' '{"schema": "menace.spec/1", "program": ["true"], "limits": {"pids_mx": 1}}'
refused limits.pids_max '{"schema": "menace.spec/1", "program": ["true"], "limits": {"pids_max": -1}}'
refused limits.pids_max '{"schema": "menace.spec/1", "program": ["true"], "limits": {"pids_max": 1e99}}'
refused 'program' '{"schema": "menace.spec/1", "program": "true"}'
refused 'program' '{"schema": "menace.spec/1", "program": []}'
refused 'uplicate' '{"schema": "menace.spec/1", "program": ["true"], "program": ["false"]}'
refused '' '{"schema": "menace.spec/1", "program": ["true"]} trailing'
refused '' '['
refused '' ''
refused NUL '{"schema": "menace.spec/1", "program": ["a\u0000b"]}'
run_plain "$MENACE_RUN" --spec "$tmp/missing"
assert_refused "$tmp/missing" "No such file"
