#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# With failure.broken_auth what the request hands over as a credential is empty, set by it or handed on, and told
# by name; other variables are what they were.  A program that asks nobody without one has met the failure.

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/mocks.sh"

credentials()
{
	json '.failures[] | select(.mode == "flaky_upstream") | .credentials // [] | @csv'
}

# shellcheck disable=SC2016 # for the shell inside
show='printf "%s|%s|%s|%s\n" "$API_KEY" "$userPassword" "$PATH_OF_KEYBOARD" "${HANDED_TOKEN-none}"; test -n "$API_KEY"'
secrets=(-e API_KEY=key-1 -e userPassword=word-2 -e PATH_OF_KEYBOARD=kept --env-pass HANDED_TOKEN)
mocks=(--mock api.example=body:x --set failure.seed=1)
export HANDED_TOKEN=token-3

stub "${mocks[@]}" "${secrets[@]}" -p '{"BROKEN_AUTH": true}' -- sh -c "$show"
assert_status 1
assert_eq "$stdout" "||kept|"
assert_eq "$(credentials)" '"API_KEY","userPassword","HANDED_TOKEN"'
assert_eq "$(json '.inconclusive, (.failures[] | .opportunities, .fired)' | paste -sd ' ')" "false 0 0"
assert_eq "$(grep -cE 'key-1|word-2|token-3' "$result")" 0 "values in the result"

# What was empty, or is not there, is nothing that happened.
unset HANDED_TOKEN
stub "${mocks[@]}" -e API_KEY= --env-pass HANDED_TOKEN -p '{"BROKEN_AUTH": true}' -- sh -c "$show"
assert_eq "$stdout $(credentials) $(json .inconclusive)" "|||none  true"

# The mode itself refuses nobody's credentials.
stub "${mocks[@]}" "${secrets[@]}" --set failure.modes=flaky_upstream -- sh -c "$show"
assert_status 0
assert_eq "$stdout $(credentials) $(json .inconclusive)" "key-1|word-2|kept|none  true"

# The caller's word is a list: of two with one name the last counts, and it is empty as well.
stub "${mocks[@]}" -e API_KEY=first -e API_KEY=last -p '{"BROKEN_AUTH": true}' -- sh -c "$show"
assert_eq "$stdout" "|||none"

# With misuse, which may change variables too, they are empty whatever it draws.
for seed in 1 2 3 4 5 6; do
	stub --mock api.example=body:x -e API_KEY=key-1 --set failure.seed=$seed \
		-p '{"BROKEN_AUTH": true, "FAILURE_MODES": "user_misuse"}' -- sh -c "$show"
	assert_eq "${stdout%%|*}" "" "with seed $seed"
done
