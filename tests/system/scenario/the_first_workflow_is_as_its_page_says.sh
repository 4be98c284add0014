#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# The commands of docs/FIRST-WORKFLOW.md, as they stand there: the workflow passes, fails on a slow link
# with the reason, which can be looked up, and passes when repaired.  A kernel that cannot delay packets is
# said to, and answers can be delayed instead.
#
# lane: soak (the page waits 0.3 seconds for an answer)

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/store.sh"
. "$repo/tests/lib/link.sh"
need_root
need_system_program python3
need_program jq
shopt -s extglob

page=$repo/docs/FIRST-WORKFLOW.md
commands=()
while read -r line; do
	commands+=("$line")
done < <(sed -n 's/^sudo //p' "$page")
assert_eq "${#commands[@]}" 5 "commands of the page"
assert_eq "${commands[0]}" "tools/quickstart --install"

# A workspace that begins as a folder wants one whose owner can be shown as another.
mkdir "$tmp/clone"
cp -r "$repo/docs" "$tmp/clone/docs"
# All times are longer by as much as the machine is slower.
patience=$(awk "BEGIN { print 0.3 * $MENACE_SLOWDOWN }")
sed -i "s/\"0.3\"/\"$patience\"/" "$tmp/clone/docs/examples/shop/flow.json"
commands=("${commands[@]/NETWORK_LATENCY_MS\": 200/NETWORK_LATENCY_MS\": $((200 * MENACE_SLOWDOWN))}")
# command N: as it stands there, but for the programs not being installed.
command()
{
	local text=${commands[$1 - 1]//sudo /}

	run_plain env -C "$tmp/clone" PATH="${MENACE%/*}:$PATH" sh -c "$text"
}
# passes N: a machine that is busy may be late with an answer, which is waited for 0.3 s, or with the counts of a link.
passes()
{
	command "$1"
	[ "$status" -eq 0 ]
}
patiently passes 2 || fail "the workflow does not pass"
# only_the_slow_one_fails: the one without conditions may be late in the same way.  7: there is no slow one.
only_the_slow_one_fails()
{
	command 3
	[ "$status" -eq 7 ] || [[ $stdout =~ slow-link\ +-\ +failed\ +0\.00\ +1\.00\  ]]
}
patiently only_the_slow_one_fails
late='round trip   {"answered":20'
if [ "$("$MENACE" doctor --json | gojq -r '.checks[] | select((.name == "netem" or .name == "tun") and .state == "ok") | .state' | head -n 1)" != ok ]; then
	assert_status 7
	assert_contains "$stdout" "this kernel has no sch_netem"
	commands=("${commands[@]/NETWORK_LATENCY_MS\": +([0-9])/API_LATENCY_MS\": $((700 * MENACE_SLOWDOWN))}")
	late="answers      $((700 * MENACE_SLOWDOWN)) ms after the request"
	patiently only_the_slow_one_fails
fi
assert_status 1
assert_contains "$stdout" "slow-link            -     failed"
assert_contains "$stdout" 'step "fetch": exited with status 1'
assert_contains "$stdout" "timed out"
command 4
assert_status 0
assert_contains "$stdout" "program      [\"python3\",\"fetch.py\",\"$patience\"]"
assert_contains "$stdout" "exit status  1"
assert_contains "$stdout" "Network link"
assert_contains "$stdout" "$late"
patiently passes 5 || fail "the repair does not pass"
assert_contains "$stdout" "slow-link            -     passed"
