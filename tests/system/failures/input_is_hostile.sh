#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# hostile_input puts an input of the shipped ones in the place of standard input: to the byte, by
# seed, class or id, and told with how much of it was read; a weak program falls over it

. "${0%/*}/../../lib/system.sh"

need_system_program python3

failure()
{
	json ".failures[] | select(.mode == \"hostile_input\") | $1"
}

hostile()
{
	run --set failure.modes=hostile_input "$@" <<<"harmless"
}

hostile --set failure.hostile=json-deep -- python3 -c 'import sys; d = sys.stdin.read(); print(len(d), d == "[" * 10000 + "]" * 10000)'
assert_eq "$stdout" "20000 True"
assert_eq "$(failure '"\(.input) \(.class) \(.size) \(.bytes) \(.opportunities) \(.fired)"')" "json-deep structure 20000 20000 1 1"
hostile --set failure.hostile=path-nul -- od -An -c
assert_eq "$(tr -d ' \n' <<<"$stdout")" '../../etc/passwd\0.png'
hostile --set failure.hostile=run-of-1m -- head -c 70000 >/dev/null
assert_eq "$(failure .size)" 1048576
assert_ge "$(failure .bytes)" 70000 "bytes read"
hostile --set failure.hostile=empty -- wc -c
assert_eq "$stdout $(json .inconclusive) $(failure .why)" "0 false whether an empty input was read leaves no trace"
# By chance that one never comes: whoever reads nothing has had no opportunity, whatever the seed.
# (Of the class nothing one of four is empty.)
for seed in {1..32}; do
	echo '{"schema": "menace.spec/1", "program": ["true"], "failure": {"modes": "hostile_input", "hostile": "nothing", "seed": '"$seed"'}}'
done >"$tmp/many"
run_plain "$MENACE_RUN" --batch -j 4 <"$tmp/many"
assert_eq "$(gojq -r '"\(.inconclusive) \(.inconclusive_why)"' "$tmp/stdout" | sort | uniq -c | xargs)" \
	"32 true [hostile_input: it had no opportunity]" "with any seed"
hostile --set failure.intensity=0 -- cat
assert_eq "$stdout $(failure '"\(.opportunities) \(.fired) \(.input)"')" "harmless 1 0 null"
hostile --set failure.hostile=nan -- true
assert_eq "$(json '[.inconclusive, .inconclusive_why[]] | join(" ")')" "true hostile_input: it had no opportunity"
echo file >"$tmp/file"
hostile --set failure.hostile=nan --set sandbox.stdin_path="$tmp/file" -- cat
assert_eq "$stdout $(cat "$tmp/file")" "NaN file"
# By its other name it is the same, and told as that
run --set failure.modes=malicious_data --set failure.hostile=run-of-10000 -- python3 -c 'import sys; d = sys.stdin.read(); print(len(d), set(d))' <<<"harmless"
assert_eq "$stdout" "10000 {'A'}"
assert_eq "$(json '.failures[0] | "\(.mode) \(.input) \(.class) \(.size) \(.bytes) \(.opportunities) \(.fired)"')" \
	"hostile_input run-of-10000 size 10000 10000 1 1"

for seed in 1 1 2 3; do
	hostile --set failure.hostile=injection --set failure.seed=$seed -- cat
	assert_eq "$(failure .class)" injection
	inputs+=("$(failure .input)")
done
assert_eq "${inputs[1]}" "${inputs[0]}" "the same seed"
assert_ne "${inputs[*]:1:3}" "${inputs[0]} ${inputs[0]} ${inputs[0]}" "other seeds"

# A flaw of each kind, planted, and found by the input that is meant for it.
weak='
import json, os, sys
data = sys.stdin.buffer.read()
if sys.argv[1] == "json": json.loads(data)
if sys.argv[1] == "number": print(1 / float(data))
if sys.argv[1] == "text": data.decode()
if sys.argv[1] == "path": print(open("/work/" + os.fsdecode(data)).readline())
if sys.argv[1] == "shell": os.system("echo " + os.fsdecode(data))
if os.path.exists("pwned"): sys.exit("pwned")'
while read -r id flaw text; do
	hostile --set failure.hostile="$id" -- python3 -c "$weak" "$flaw"
	assert_contains "$stdout$stderr" "$text" "$flaw with $id"
done <<-'END'
	json-deep json RecursionError
	json-cut json JSONDecodeError
	zero number ZeroDivisionError
	utf8-surrogate text UnicodeDecodeError
	path-up path root:
	shell-command shell pwned
END

hostile --set failure.hostile=json-dep -- true
assert_refused 'unknown input "json-dep"; did you mean "json-deep"?'
hostile --tty -- true
assert_refused "with a terminal (--tty) the input comes from it"
