#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# menace export takes the filters of menace runs, in each format
#
# sanitizers

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/store.sh"
. "$repo/tests/lib/export.sh"

need_root
need_cgroups

"$MENACE_RUN" -q -- sh -c 'exit 4'
"$MENACE_RUN" -q -- true
put_record 01m8grcbq84h03083qe5vt6fsc

# chosen OPTION...: runs that are exported, by the lines of ocsf and those of jsonl.
chosen()
{
	local events records

	events=$("$MENACE" export --format ocsf "$@" | gojq -r .metadata.correlation_uid | sort -u)
	records=$("$MENACE" export "$@" | gojq -r .run_id | sort)
	[ "$events" = "$records" ] || fail "ocsf '$events', jsonl '$records'"
	if [ -n "$records" ]; then
		wc -l <<<"$records"
	else
		echo 0
	fi
}

assert_eq "$(chosen)" 3
assert_eq "$(chosen --reason exited)" 2
assert_eq "$(chosen --reason oom)" 1
assert_eq "$(chosen --reason seccomp)" 0
assert_eq "$(chosen --program 's*')" 1
assert_eq "$(chosen --program 's*' --reason oom)" 0
assert_eq "$(chosen --since 2026-11-28T03:19:46 --until 2026-11-28T03:19:47)" 1
assert_eq "$(chosen --until 1970-01-01)" 0
assert_eq "$(chosen --run 01m8grcbq84h03083qe5vt6fsc)" 1
for format in prometheus otlp ecs cef; do
	menace export --format "$format" --reason seccomp
	assert_status 0
	assert_not_contains "$stdout" menace_runs_total
	[ "$format" = prometheus ] || assert_eq "$stdout" "" "$format of no runs"
done
