#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Reading what a run left in its workspace takes as long as the run chose: the deadlines of
# the runs beside it are kept all the same, and nothing of any result is lost
#
# lane: soak (a bound on how late a run ends)

. "${0%/*}/../../lib/system.sh"

need_root
mkdir "$tmp/work"
# Half a gigabyte to hash, which takes no space.
holes='for i in 1 2 3 4 5 6 7 8; do truncate -s 60M hole$i; done'
for _ in 0 1 2; do
	gojq -nc --arg dir "$tmp/work" --arg code "$holes" '{schema: "menace.spec/1",
		program: ["sh", "-c", $code], sandbox: {workspace: $dir, cwd: "/work"}}'
done >"$tmp/specs"
echo '{"schema": "menace.spec/1", "program": ["sleep", "60"], "limits": {"wall_ms": 500}}' >>"$tmp/specs"

keeps_its_deadline()
{
	run_plain "$MENACE_RUN" --batch -j 4 <"$tmp/specs"
	assert_status 0
	assert_eq "$stderr" "" "messages"
	assert_eq "$(gojq -sc 'sort_by(.batch_index) | map([.reason, .workspace.changes.counts.added])' "$tmp/stdout")" \
		'[["exited",8],["exited",8],["exited",8],["wall_timeout",null]]'
	assert_eq "$(gojq -sc '[.[] | .workspace.changes.entries // [] | .[] | select(.sha256 != null)] | length' \
		"$tmp/stdout")" 24 "files with a hash"
	late=$(gojq -s '.[] | select(.batch_index == 3) | .usage.wall_us / 1000 - 500 | floor' "$tmp/stdout")
	# Whoever waited for one of the three folders to be read would be late by a third of all.
	limit=$(scaled 1500)
	[ "$limit" -ge $((elapsed_ms / 4)) ] || limit=$((elapsed_ms / 4))
	[ "$late" -le "$limit" ]
}
patiently keeps_its_deadline || fail "ended $late ms after the deadline, over $limit"
