#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# What the host has in place of a file that the sandbox has not is told without asking any server for
# it: the path is the program's choice, and a dead one would hold up all deadlines
# security

. "${0%/*}/../../lib/system.sh"

need_root
need_program python3
mkdir "$tmp/dead"
echo host >"$tmp/there"

# beside ARGUMENT...: as run does, with a mount of the host that never answers at $tmp/dead.
beside()
{
	python3 "$repo/tests/lib/never-answers.py" "$tmp/dead" "$(scaled 60)" \
		"$MENACE_RUN" -o "$result" "$@" >"$tmp/stdout" 2>"$tmp/stderr"
	status=$?
	stdout=$(<"$tmp/stdout") stderr=$(<"$tmp/stderr")
	[ "$status" -ne 77 ] || skip "no mount that never answers: $stderr"
}

for how in "--level 5" --explain-denials; do
	# shellcheck disable=SC2086 # words
	beside $how -t "$(scaled 20)" -- cat "$tmp/there" "$tmp/dead/file" "$tmp/dead"
	assert_status 1
	assert_reason exited
	assert_contains "$stderr" "$tmp/dead/file: No such file or directory"
	assert_eq "$(json "[.denials.rows[] | select(.rule == \"not in the sandbox\").object] | contains([\"$tmp/there\"])")" true \
		"what is told of a file that the host has"
	assert_eq "$(json "[.denials.rows[] | select(.object == \"$tmp/dead/file\")] | length")" 0 \
		"what is told of a file that nobody knows"
done

# A link that leads there from what the sandbox has is resolved in the sandbox, however it is reached.
mkdir "$tmp/shown"
ln -s "$tmp/dead/file" "$tmp/shown/link"
ln -s "$tmp/dead" "$tmp/shown/folder"
ln -s /shown/data "$tmp/shown/absolute"
echo data >"$tmp/shown/data"
for how in --explain-denials --record-access; do
	beside "$how" -t "$(scaled 20)" --ro "$tmp/shown:/shown" --cwd /shown -- sh -c '
		exec 7<.
		cat link folder/file /proc/self/cwd/link /proc/self/cwd/folder/file /proc/self/root/shown/link \
			/proc/thread-self/cwd/link /dev/fd/7/link /proc/self/fd/7/folder/file
		cat /proc/self/cwd/absolute'
	assert_status 0
	assert_reason exited
	assert_eq "$stdout" data
done
assert_contains "$(json '.access.paths[].path')" /shown/data
