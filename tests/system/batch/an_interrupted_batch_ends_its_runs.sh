#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# SIGTERM ends the runs that live, each with its result, starts no other, and
# leaves nothing
#
# security
# kernel

. "${0%/*}/../../lib/system.sh"

need_root
need_cgroups
check_leaks

mkdir -m 777 "$tmp/came"
for ((i = 0; i < 20; i++)); do
	printf '{"schema": "menace.spec/1", "program": ["sh", "-c", "%s"]}\n' \
		"(setsid sleep 1000 &); trap : TERM; : >/came/$i; while :; do sleep 1000; done"
done >"$tmp/specs"
"$MENACE_RUN" --batch -j 4 -s limits.grace_ms=100 -t "$(scaled 60)" --rw "$tmp/came:/came" <"$tmp/specs" >"$tmp/results" &
batch=$!
four_live()
{
	[ "$(find "$tmp/came" -type f | wc -l)" -eq 4 ]
}
wait_until 20 four_live || fail "no four runs"
kill -TERM $batch
wait $batch
assert_eq $? 143 "exit status"
assert_eq "$(gojq -s length "$tmp/results")" 4 "results"
assert_eq "$(gojq -sc 'map("\(.reason) \(.exit.status)") | unique' "$tmp/results")" '["killed_by_user 143"]'
