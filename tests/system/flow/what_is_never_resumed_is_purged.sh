#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Workflows and matrices that were killed and not resumed go when they are old enough, with their files: never one
# that is being run, nor one of whose runs is held; and what a killed one left without a store goes at the next start
#

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/store.sh"
. "$repo/tests/lib/gate.sh"
need_root
use_gate

cat >"$tmp/flow.json" <<'END'
{"schema": "menace.flow/1", "name": "slow", "combined": false, "workspace": "shared",
 "steps": [{"name": "first", "program": ["sh", "-c", "head -c 300000 /dev/zero >big"]},
	{"name": "second", "program": ["sh", "/gate/pass"]}]}
END
unfinished()
{
	"$MENACE" query 'SELECT flow_run AS id FROM flow_runs WHERE ended_us IS NULL ORDER BY started_us' --json 2>/dev/null |
		gojq -r .id | sed -n "$1p"
}
steps_of()
{
	"$MENACE" query "SELECT count(*) AS n FROM flow_steps WHERE flow_run = '$1'" --json | gojq .n
}
# begin N: one whose first step is done and whose second one goes on; sets $id and $pid.
begin()
{
	close_gate 0
	"$MENACE" flow run "$tmp/flow.json" >/dev/null 2>&1 &
	pid=$!
	wait_until 50 is_waiting 1 || fail "no second step"
	id=$(unfinished "$1")
	assert_eq "$(steps_of "$id")" 1 "steps that are kept"
}

begin 1
lost=$id
kill_all "$pid"
begin 2
held=$id
kill_all "$pid"
menace hold "$("$MENACE" query "SELECT run FROM flow_steps WHERE flow_run = '$held'" --json | gojq -r .run)"
assert_status 0
close_gate 2
"$MENACE" scenario run --scenarios normal -r 2 --json -- sh /gate/pass >/dev/null 2>&1 &
pid=$!
wait_until 50 is_waiting 3 || fail "no third cell"
kill_all "$pid"
matrix=$(gojq -r .matrix < <("$MENACE" query 'SELECT matrix FROM matrices WHERE ended_us IS NULL' --json))
begin 3
living=$id
mkdir "$store.flows/not-ours" "$store.flows/0123456789abcdef"
touch -d '3 days ago' "$store.flows/not-ours" "$store.flows/0123456789abcdef"

menace flow purge
assert_refused "say how old: --before TIME"

# Nothing of today is old; what has no row in the store is.
menace flow purge --before 1h --dry-run --json
assert_status 0
cp "$tmp/stdout" "$result"
assert_eq "$(json '.dry_run, (.removed | map(.id)), .kept' | gojq -sc .)" '[true,["0123456789abcdef"],[]]'

menace flow purge --before 0s --dry-run --json
assert_status 0
cp "$tmp/stdout" "$result"
assert_eq "$(json '[.removed[] | [.kind, .id]] | sort' | gojq -c .)" "$(gojq -nc --arg l "$lost" --arg m "$matrix" '[["files", "0123456789abcdef"], ["flow", $l], ["matrix", $m]] | sort')"
assert_eq "$(json '[.kept[] | [.id, .why]] | sort' | gojq -c .)" "$(gojq -nc --arg h "$held" --arg v "$living" '[[$h, "one of its runs is held"], [$v, "it is being run"]] | sort')"
assert_eq "$(json ".removed[] | select(.id == \"$lost\") | .bytes >= 300000 and .files >= 1")" true
assert_eq "$(json '.bytes == ([.removed[].bytes] | add)')" true
[ -d "$store.flows/$lost" ] || fail "a dry run removes"
assert_eq "$(steps_of "$lost")" 1

menace flow purge --before 0s
assert_status 0
assert_contains "$stdout" "flow run $lost"
assert_contains "$stdout" "flow run $living stays: it is being run"
[ ! -e "$store.flows/$lost" ] && [ ! -e "$store.flows/$matrix" ] || fail "files are left"
[ -d "$store.flows/$held" ] && [ -d "$store.flows/$living" ] && [ -d "$store.flows/not-ours" ] || fail "too much is gone"
assert_eq "$(steps_of "$lost")" 0
assert_eq "$("$MENACE" query "SELECT count(*) AS n FROM cells" --json | gojq .n)" 0
menace flow run --resume "$lost"
assert_status 1
assert_contains "$stderr" "the store has no \"$lost\""
menace scenario run --resume "$matrix"
assert_status 1
assert_contains "$stderr" "the store has no \"$matrix\""
kill -0 "$pid" || fail "the living one has ended"
kill_all "$pid"
menace flow purge --before 0s --json
cp "$tmp/stdout" "$result"
assert_eq "$(json '[.removed[].id]' | gojq -c .)" "[\"$living\"]"

# Without a store.
export TMPDIR=$tmp/temporary
mkdir "$TMPDIR"
stages()
{
	find "$TMPDIR" -mindepth 1 -maxdepth 1 -name 'menace-flow.*' -printf '%f\n'
}
has_stages()
{
	[ "$(stages | wc -l)" -eq "$1" ] && [ "$(find "$TMPDIR" -path '*/own/*' -name big | wc -l)" -eq "$1" ]
}
MENACE_STORE=none "$MENACE" flow run "$tmp/flow.json" >/dev/null 2>&1 &
pid=$!
wait_until 40 has_stages 1 || fail "no stage"
kill_all "$pid"
dead=$(stages)
MENACE_STORE=none "$MENACE" flow run "$tmp/flow.json" >/dev/null 2>&1 &
pid=$!
has_new()
{
	[ ! -e "$TMPDIR/$dead" ] && has_stages 1
}
wait_until 40 has_new || fail "the stage of a dead one is left: $(ls "$TMPDIR")"
alive=$(stages)
# Not a folder of ours: what anybody could put there.
mkdir -m 777 "$TMPDIR/menace-flow.abcdef"
ln -s / "$TMPDIR/menace-flow.fedcba"
echo '{"schema": "menace.flow/1", "name": "x", "steps": [{"name": "x", "program": ["true"]}]}' >"$tmp/quick.json"
MENACE_STORE=none "$MENACE" flow run "$tmp/quick.json" >/dev/null || fail "it fails"
[ -e "$TMPDIR/$alive" ] || fail "the stage of a living one is gone"
[ -d "$TMPDIR/menace-flow.abcdef" ] && [ -L "$TMPDIR/menace-flow.fedcba" ] || fail "what is not ours is gone"
kill_all "$pid"
