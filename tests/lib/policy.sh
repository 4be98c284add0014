# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# What the tests of policies share; after system.sh

MENACE=${MENACE:-$repo/build/bin/menace}
[ -x "$MENACE" ] || fail "no $MENACE: build first, or set MENACE"

# learn [OPTIONS] -- PROGRAM...: writes $tmp/policy.json; with room for a busy machine.
learn()
{
	run_plain "$MENACE" learn --margin 2000 -o "$tmp/policy.json" -t "$(scaled 30)" "$@"
}

# enforced [OPTIONS] -- PROGRAM...: the same under that policy.
enforced()
{
	run --policy "$tmp/policy.json" "$@"
}

# policy MEMBERS: a document in $tmp/policy.json.
policy()
{
	printf '{"schema": "menace.policy/1"%s}\n' "${1:+, $1}" >"$tmp/policy.json"
}

# denials: "LAYER CALL OBJECT" of those that the policy made, sorted.
denials()
{
	json '.denials.rows[] | select(.rule == "policy") | "\(.layer) \(.what) \(.object)"' | sort
}
