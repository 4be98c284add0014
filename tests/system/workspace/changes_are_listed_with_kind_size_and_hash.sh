#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# The result lists what was added, modified, deleted, changed in type or in its
# metadata, with sizes and hashes, and nothing else

. "${0%/*}/../../lib/system.sh"

need_root

mkdir -p "$tmp/w/dir/sub" "$tmp/w/todo"
for name in modified deleted same mode becomes_dir dir/sub/x read todo/y grown; do
	echo "$name" >"$tmp/w/$name"
done
ln -s old "$tmp/w/link"

run --workspace "$tmp/w" -- sh -ec '
	echo new content >added
	printf "MODIFIED\n" >modified
	rm deleted
	chmod 600 mode
	rm becomes_dir; mkdir becomes_dir; echo in >becomes_dir/in
	rm -r dir
	cat read >/dev/null
	echo same >copy; cat copy >same
	ln -sfn new link
	mkdir made
	rm -r todo; mkdir todo
	echo more >>grown
	mkfifo pipe'
assert_status 0
changes()
{
	json ".workspace.changes.entries[] | $1"
}
assert_eq "$(changes '"\(.kind) \(.type) \(.path)"')" "added file added
type_changed dir becomes_dir
added file becomes_dir/in
added file copy
deleted file deleted
deleted dir dir
modified file grown
modified symlink link
added dir made
metadata file mode
modified file modified
added fifo pipe
metadata file same
deleted file todo/y"
assert_eq "$(changes 'select(.path == "added") | "\(.size) \(.sha256) \(.mode)"')" \
	"12 $(echo new content | sha256sum | cut -d' ' -f1) 0644" "added"
assert_eq "$(changes 'select(.path == "modified") | .sha256')" \
	"$(echo MODIFIED | sha256sum | cut -d' ' -f1)" "modified"
assert_eq "$(changes 'select(.path == "link") | .target')" new "link"
assert_eq "$(changes 'select(.path == "mode") | "\(.mode) \(.differs | @csv)"')" '0600 "mode"'
assert_eq "$(changes 'select(.path == "becomes_dir") | .old_type')" file
assert_eq "$(json '.workspace.changes.counts | "\(.added) \(.modified) \(.deleted) \(.type_changed) \(.metadata)"')" \
	"5 3 3 1 2" "counts"
assert_eq "$(json .workspace.changes.truncated)" false

run --workspace "$tmp/w" -- sh -c 'cat modified; ls -R >/dev/null'
assert_eq "$(json '.workspace.changes.entries | length')" 0 "changes of a run that reads"

run -- true
assert_eq "$(json .workspace)" null "without a workspace"
