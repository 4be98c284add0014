#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# --keep-changes copies what changed, with modes, links and the list of what is
# gone; its folder is made, must be empty, and is never reached through a link

. "${0%/*}/../../lib/system.sh"

need_root

mkdir -p "$tmp/w/dir"
echo old >"$tmp/w/file"
echo gone >"$tmp/w/gone"
echo in >"$tmp/w/dir/in"

work='echo new >file; rm gone; mkdir sub; echo x >sub/x; chmod 755 sub/x; ln -s /etc/shadow link
	rm -r dir; ln -s /etc "esc"; mkfifo pipe'
run --workspace "$tmp/w" --keep-changes "$tmp/out" -- sh -ec "$work"
assert_status 0
assert_eq "$(cat "$tmp/out/file" "$tmp/out/sub/x")" $'new\nx'
assert_eq "$(stat -c %a "$tmp/out/sub/x")" 755 "mode"
assert_eq "$(readlink "$tmp/out/link")" /etc/shadow "link"
assert_eq "$(tr '\0' '\n' <"$tmp/out/.menace-deleted")" $'dir\ngone' "deleted"
assert_absent "$tmp/out/pipe"
assert_eq "$(json '.workspace.kept | "\(.files) \(.dirs) \(.symlinks) \(.deletions) \(.skipped) \(.complete)"')" \
	"2 1 2 2 1 false" "kept"
assert_eq "$(json '.workspace.kept.notes[0].path')" pipe "note"
assert_eq "$(stat -c %u "$tmp/out/file")" 0 "owner"

# It brings a copy of the folder to what the program saw.
cp -a "$tmp/w" "$tmp/copy"
(cd "$tmp/copy" && xargs -0 rm -rf -- <"$tmp/out/.menace-deleted" && cp -a "$tmp/out/." . &&
	rm .menace-deleted)
assert_eq "$(cd "$tmp/copy" && find . ! -name . | sort | tr '\n' ' ')" "./esc ./file ./link ./sub ./sub/x "

run --workspace "$tmp/w" --keep-changes "$tmp/out" -- true
assert_refused "keep changes" "$tmp/out is not empty"
assert_eq "$(cat "$tmp/out/file")" new

mkdir "$tmp/elsewhere"
ln -s "$tmp/elsewhere" "$tmp/out2"
run --workspace "$tmp/w" --keep-changes "$tmp/out2" -- sh -c 'echo x >x'
assert_eq "$(ls "$tmp/elsewhere")" "" "behind a link"
assert_refused "keep changes" "$tmp/out2"
