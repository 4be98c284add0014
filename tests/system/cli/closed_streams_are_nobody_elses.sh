#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# menace with its standard streams closed: no file of its own takes their numbers, and what it
# cannot print or read is an error as ever
#
# sanitizers
# security

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/store.sh"
need_root

learn_with()
{
	rm -f "$tmp/policy.json"
	(eval "exec $1" && exec "$MENACE" learn -o "$tmp/policy.json" -- sh -c 'cat; echo said; echo hi >&2')
	assert_eq "$?" 0 "status with $1"
	assert_eq "$(gojq -r .schema "$tmp/policy.json")" menace.policy/1 "with $1"
}
learn_with "2>&- >$tmp/said"
assert_eq "$(cat "$tmp/said")" said
learn_with "<&- >$tmp/said 2>$tmp/err"
learn_with ">&- 2>$tmp/err"
assert_eq "$(cat "$tmp/err")" hi
learn_with "<&- >&- 2>&-"
"$MENACE" learn -- sh -c 'echo hi >&2' >"$tmp/policy.json" 2>&-
assert_eq "$?:$(gojq -r .schema "$tmp/policy.json")" 0:menace.policy/1 "on standard output"

for command in "preset canonical" --version runs; do
	# shellcheck disable=SC2086 # two words
	"$MENACE" $command 2>"$tmp/err" >&-
	assert_eq "$?:$(cat "$tmp/err")" "125:menace: standard output: Bad file descriptor" "$command"
done
"$MENACE" preset check - 2>"$tmp/err" <&-
assert_ne "$?" 0
assert_contains "$(cat "$tmp/err")" "read standard input: Bad file descriptor"

# What is kept is whole with all of them closed.
"$MENACE_RUN" -- true || fail "no run to export"
(exec <&- >&- 2>&-; exec "$MENACE" export -o "$tmp/export")
assert_eq "$?:$(gojq -s length "$tmp/export")" "0:$(count_runs)"
assert_verified
