#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# menace learn writes nothing of a run that did not end by itself, and says what is wrong; names
# and arguments are data

. "${0%/*}/../../lib/system.sh"
. "${0%/*}/../../lib/policy.sh"

need_root

learn -t 0.2 -- sleep 60
assert_status 2
assert_contains "$stderr" "the run did not end by itself (wall_timeout)"
assert_absent "$tmp/policy.json"
learn -- /nowhere
assert_ne "$status" 0
assert_absent "$tmp/policy.json"
learn /bin/true
assert_refused "-- is missing; accepted: menace learn"
learn --json x -- /bin/true
assert_refused "--json: menace learn makes one run and reads its result itself"
learn --runs 0 -- /bin/true
assert_refused "--runs: 0 is out of range; accepted: 1 to 1000"
learn --nonsense -- /bin/true
assert_status 2
assert_contains "$stderr" "unknown option --nonsense"
assert_absent "$tmp/policy.json"

learn -- echo '$(touch /tmp/x)' --json -o '; ls' --
assert_status 0
assert_eq "$stdout" '$(touch /tmp/x) --json -o ; ls --'
assert_eq "$(gojq -r .schema "$tmp/policy.json")" menace.policy/1

# What a run does by chance is learned by more of them.
learn --runs 3 -- sh -c 'exit 3'
assert_status 0
assert_eq "$(grep -c 'ended with status 3' "$tmp/stderr")" 3 "warnings"
# An old policy stays when nothing is learned.
before=$(cat "$tmp/policy.json")
learn -t 0.2 -- sleep 60
assert_eq "$(cat "$tmp/policy.json")" "$before" "policy"

# On standard output: the program's own is apart.
run_plain "$MENACE" learn -- sh -c 'echo out >&2'
assert_eq "$(gojq -r .schema "$tmp/stdout")" menace.policy/1

# A place that cannot be written costs no run.
mkdir "$tmp/out"
run_plain "$MENACE" learn -o "$tmp/none/p.json" --rw "$tmp/out" -- touch "$tmp/out/ran"
assert_refused "--output: open the folder of $tmp/none/p.json: No such file or directory"
assert_absent "$tmp/out/ran"
run_plain "$MENACE" learn -o "$tmp/out/p.json" --rw "$tmp/out" -- touch "$tmp/out/ran"
assert_status 0
[ -e "$tmp/out/ran" ] || fail "it would not have been seen to run"
assert_eq "$(find "$tmp/out" -mindepth 1 -printf '%f\n' | sort | tr '\n' ' ')" "p.json ran "
