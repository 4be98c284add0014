#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# In a user namespace a folder of the workspace can be removed and replaced only on a kernel whose
# tmpfs has user.* attributes; on another the result says so before anybody wonders about EIO

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/workspace.sh"

need_root
need_program unshare
need_program python3
mkdir -p "$tmp/w/dir"
echo text >"$tmp/w/dir/file"

run --workspace "$tmp/w" -- sh -c 'rm -r dir'
assert_status 0
assert_eq "$(json .workspace.note)" null "note without a user namespace"

run --userns --workspace "$tmp/w" -- sh -c 'rm -r dir'
if userns_marks_folders; then
	assert_status 0
	assert_eq "$(json .workspace.note)" null "note"
	assert_eq "$(json '[.workspace.changes.entries[].path] | @csv')" '"dir"' "changes"
else
	assert_status 1
	assert_contains "$stderr" "Input/output error" "what rm says"
	assert_contains "$(json .workspace.note)" "removing or replacing a folder that was there fails with EIO" "note"
	assert_contains "$stderr" "workspace $tmp/w: in a user namespace this kernel cannot mark" "warning"
fi
assert_eq "$(cat "$tmp/w/dir/file")" text "the folder itself"
