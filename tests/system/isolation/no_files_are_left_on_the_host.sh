#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Nothing is ever made in a folder of the host: not to hide what is not there, not as a
# place for a mount, not for the working directory
# security

. "${0%/*}/../../lib/system.sh"

mkdir -p "$tmp/work/sub" "$tmp/rw" "$tmp/ro"
echo text >"$tmp/work/file"
chmod 777 "$tmp/rw"
find "$tmp/work" "$tmp/rw" "$tmp/ro" -printf '%p %y %m %s %T@ %C@\n' | sort >"$tmp/before"
unchanged()
{
	find "$tmp/work" "$tmp/rw" "$tmp/ro" -printf '%p %y %m %s %T@ %C@\n' | sort >"$tmp/after"
	assert_eq "$(diff "$tmp/before" "$tmp/after")" "" "changes on the host after $*"
}

run --workspace "$tmp/work" --rw "$tmp/rw:/rw" --ro "$tmp/ro:/ro" --hide /work/.env --hide /work/sub/none/deep \
	--hide /ro/none --hide /work/file --hide /etc/none -- sh -c 'wc -c </work/file; ls -A /rw /ro'
assert_status 0
assert_eq "$stdout" $'0\n/ro:\n\n/rw:' "what is seen"
unchanged "hiding what is not there"

for dest in /rw/new /ro/new /rw/new/deep; do
	for mount in "--ro $tmp/work:$dest" "--tmpfs $dest" "--ro $tmp/work/file:$dest"; do
		# shellcheck disable=SC2086 # words
		run --rw "$tmp/rw:/rw" --ro "$tmp/ro:/ro" $mount -- true
		assert_refused "$dest" "would have to be made in a folder of the host"
		unchanged "$mount"
	done
done
run --workspace "$tmp/work" --tmpfs /work/new --ro "$tmp/ro:/work/other/deep" --cwd /work/new -- touch here
assert_status 0
unchanged "mounts in the workspace"
run --workspace "$tmp/work" --cwd /work/none -- true
assert_status 2
unchanged "a working directory that is not there"
run --workspace "$tmp/work" -- sh -c 'rm -r file sub; echo new >new; chmod 700 .'
assert_status 0
unchanged "a run that changes everything"
