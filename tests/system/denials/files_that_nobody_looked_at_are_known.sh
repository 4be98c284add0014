#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# What the host has in place of a file that the sandbox has not is told, also when the kernel has not
# looked at it before
# security

. "${0%/*}/../../lib/system.sh"

need_root
with_own_mounts
mkdir -p "$tmp"/{lower/deep/er,upper,view}
echo host >"$tmp/lower/deep/er/file"
ln -s deep/er "$tmp/lower/link"
ln -s ./link/.. "$tmp/lower/linked"
ln -s file "$tmp/lower/deep/er/last"

# fresh: a file system of which the kernel knows no name yet.
fresh()
{
	! mountpoint -q "$tmp/view" || umount "$tmp/view"
	mount -t overlay -o "lowerdir=$tmp/upper:$tmp/lower" none "$tmp/view" || skip "no overlay"
}

# told PATH: the run's word on it
told()
{
	fresh
	run --explain-denials -- cat "$1"
	assert_status 1
	json "[.denials.rows[] | select(.object == \"$1\") | .rule] | join(\",\")"
}

for path in deep/er/file deep/er/last link/file linked/er/file deep/./er/../er/file; do
	assert_eq "$(told "$tmp/view/$path")" "not in the sandbox" "$path"
done
assert_eq "$(told "$tmp/view/deep/er/none")" "" "what nobody has"
assert_eq "$(told "$tmp/view/none/none")" "" "what is in a folder that nobody has"
