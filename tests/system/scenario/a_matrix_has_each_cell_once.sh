#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# A matrix that is killed three times and resumed has every cell once, with its scenario, seed, replicate
# and arm, as one that was not; nothing is left
#

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/store.sh"
need_root
check_leaks

presets='[{"SCENARIO_NAME": "few", "MAX_THREADS": 16}, {"SCENARIO_NAME": "small", "DISK_LIMIT": "4Mi"}]'
cells()
{
	"$MENACE" query "SELECT n, scenario, level, replicate, arm, seed, count(*) AS times FROM cells
		WHERE matrix = '$1' GROUP BY n ORDER BY n" --json |
		jq -c '[.n, .scenario, .level, .replicate, .arm, .seed, .times]'
}
count_cells()
{
	"$MENACE" query 'SELECT count(*) AS n FROM cells' --json 2>/dev/null | jq .n
}
has_cells()
{
	local n

	n=$(count_cells)
	[ "${n:-0}" -ge "$1" ] # there may be no store yet
}
# kill_after N OPTIONS...; fails if it was over before it was killed.
kill_after()
{
	local n=$1 pid

	shift
	"$MENACE" scenario run "$@" >"$tmp/stdout" 2>"$tmp/stderr" &
	pid=$!
	wait_until 40 has_cells "$n" || fail "no $n cells"
	kill -KILL "$pid" 2>/dev/null
	wait "$pid" 2>/dev/null
	[ "$(count_cells)" -lt $((r * 2 * 3)) ]
}

r=8
[ "$MENACE_SLOWDOWN" -eq 1 ] || r=3
n=$((r * 2 * 3))
what=(--scenarios normal -p "$presets" -r "$r" -s 11)
# kill_three_times: in the middle each time; cells are longer with each try, for whom others keep from looking in time.
kill_three_times()
{
	new_store
	program=(sleep "$(awk "BEGIN { print $nap * $MENACE_SLOWDOWN }")")
	nap=$(awk "BEGIN { print 3 * $nap }")
	kill_after 2 "${what[@]}" -j 4 -- "${program[@]}" || return
	id=$("$MENACE" query 'SELECT matrix FROM matrices' --json | jq -r .matrix)
	kill_after $((n / 3)) --resume "$id" -j 4 && kill_after $((n * 2 / 3)) --resume "$id" -j 3
}
nap=0.1
patiently kill_three_times || fail "it was over before it was killed"
menace scenario run --resume "$id" -j 4 --json
assert_status 0
cp "$tmp/stdout" "$result"
assert_eq "$(json '.counts.passed, (.cells | length), .seed, .replicates')" "$n
$n
11
$r"
cells "$id" >"$tmp/killed"
assert_eq "$(jq -s 'map(.[6]) | unique' -c "$tmp/killed")" "[1]"
assert_eq "$(wc -l <"$tmp/killed")" "$n"
# The two arms of a pair are beside each other, have one seed and begin in turn.
assert_eq "$(jq -sc '[range(0; length; 2) as $i | .[$i], .[$i + 1]] | [_nwise(2)] | map(.[0][1:4] == .[1][1:4] and .[0][5] == .[1][5] and .[0][4] != .[1][4]) | unique' "$tmp/killed")" "[true]"
assert_eq "$(jq -sc 'map(select(.[1] == "few")) | [.[0][4], .[2][4]] | unique' "$tmp/killed")" '["off","on"]'
assert_eq "$(jq -sc 'map(.[5]) | unique | length' "$tmp/killed")" "$((n / 2))" "seeds"

# The same again in one go, from the same seed.
menace scenario run "${what[@]}" -j 4 -- "${program[@]}"
assert_status 0
id=$("$MENACE" query 'SELECT matrix FROM matrices ORDER BY started_us DESC LIMIT 1' --json | jq -r .matrix)
cells "$id" >"$tmp/whole"
cmp "$tmp/killed" "$tmp/whole" || fail "other cells"
assert_eq "$("$MENACE" query 'SELECT count(*) AS n FROM matrices WHERE ended_us IS NULL' --json | jq .n)" 0
assert_eq "$(find "$store.flows" -mindepth 1)" "" "left beside the store"
menace scenario run --resume "$id" -r 3
assert_refused "--resume: what was begun is known"
