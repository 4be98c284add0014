#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# A matrix that is killed three times and resumed has every cell once, with its scenario, seed, replicate
# and arm, as one that was not; nothing is left
#

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/store.sh"
. "$repo/tests/lib/gate.sh"
need_root
check_leaks
use_gate

presets='[{"SCENARIO_NAME": "few", "MAX_THREADS": 16}, {"SCENARIO_NAME": "small", "DISK_LIMIT": "4Mi"}]'
cells()
{
	"$MENACE" query "SELECT n, scenario, level, replicate, arm, seed, count(*) AS times FROM cells
		WHERE matrix = '$1' GROUP BY n ORDER BY n" --json |
		gojq -c '[.n, .scenario, .level, .replicate, .arm, .seed, .times]'
}
count_cells()
{
	"$MENACE" query 'SELECT count(*) AS n FROM cells' --json 2>/dev/null | gojq .n
}
# kill_after N OPTIONS...: N programs pass, and it is killed while others wait.
kill_after()
{
	local n=$1 pid

	shift
	close_gate "$n"
	"$MENACE" scenario run "$@" >"$tmp/stdout" 2>"$tmp/stderr" &
	pid=$!
	wait_until 50 is_waiting $((n + 1)) || fail "no $n cells: $(<"$tmp/stderr")"
	kill_all "$pid"
	open_gate
}

r=3
n=$((r * 2 * 3))
what=(--scenarios normal -p "$presets" -r "$r" -s 11)
program=(sh /gate/pass)
kill_after 3 "${what[@]}" -j 4 -- "${program[@]}"
id=$("$MENACE" query 'SELECT matrix FROM matrices' --json | gojq -r .matrix)
kill_after 4 --resume "$id" -j 4
kill_after 4 --resume "$id" -j 3
[ "$(count_cells)" -lt "$n" ] || fail "nothing is left to be resumed"
menace scenario run --resume "$id" -j 4 --json
assert_status 0
cp "$tmp/stdout" "$result"
assert_eq "$(json '.counts.passed, (.cells | length), .seed, .replicates')" "$n
$n
11
$r"
cells "$id" >"$tmp/killed"
assert_eq "$(gojq -s 'map(.[6]) | unique' -c "$tmp/killed")" "[1]"
assert_eq "$(wc -l <"$tmp/killed")" "$n"
# The two arms of a pair are beside each other, have one seed and begin in turn.
assert_eq "$(gojq -sc '[range(0; length; 2) as $i | .[$i:$i + 2]] | map(.[0][1:4] == .[1][1:4] and .[0][5] == .[1][5] and .[0][4] != .[1][4]) | unique' "$tmp/killed")" "[true]"
assert_eq "$(gojq -sc 'map(select(.[1] == "few")) | [.[0][4], .[2][4]] | unique' "$tmp/killed")" '["off","on"]'
assert_eq "$(gojq -sc 'map(.[5]) | unique | length' "$tmp/killed")" "$((n / 2))" "seeds"

# The same again in one go, from the same seed.
menace scenario run "${what[@]}" -j 4 -- "${program[@]}"
assert_status 0
id=$("$MENACE" query 'SELECT matrix FROM matrices ORDER BY started_us DESC LIMIT 1' --json | gojq -r .matrix)
cells "$id" >"$tmp/whole"
cmp "$tmp/killed" "$tmp/whole" || fail "other cells"
assert_eq "$("$MENACE" query 'SELECT count(*) AS n FROM matrices WHERE ended_us IS NULL' --json | gojq .n)" 0
assert_eq "$(find "$store.flows" -mindepth 1)" "" "left beside the store"
menace scenario run --resume "$id" -r 3
assert_refused "--resume: what was begun is known"
