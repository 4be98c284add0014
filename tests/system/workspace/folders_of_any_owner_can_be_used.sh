#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# A workspace of root, of another user, with read-only files, read-only itself:
# the program works in it as its owner, as root or in a user namespace

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/workspace.sh"

need_root

mkdir -p "$tmp/root/dir" "$tmp/other/dir" "$tmp/private/dir"
for folder in root other private; do
	echo text >"$tmp/$folder/file"
	echo text >"$tmp/$folder/dir/file"
	chmod 444 "$tmp/$folder/file"
done
chown -R 12345:54321 "$tmp/other"
chmod -R go-rwx "$tmp/private"

work='[ "$(cat file dir/file)" = "text
text" ] || exit 10
echo new >new && echo more >>dir/file && chmod u+w file && echo more >>file && rm dir/file'
for folder in root other private; do
	for option in --level=3 --userns; do
		remove=' && rmdir dir' entries='"dir","file","new"'
		if [ $option = --userns ] && ! userns_marks_folders; then
			remove='' entries='"dir/file","file","new"'
		fi
		run $option --workspace "$tmp/$folder" -- sh -ec "$work$remove"
		assert_status 0
		assert_eq "$(json '[.workspace.changes.entries[].path] | @csv')" "$entries" \
			"changes in $folder with $option"
		run $option --workspace "$tmp/$folder" -- sh -c 'stat -c %U . file new 2>/dev/null; id -un'
		assert_eq "${stdout//$'\n'/ }" "sandbox sandbox sandbox" "owner of $folder with $option"
	done
done
