#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# --ro shows a folder with what is mounted below it, and nothing of that can be written, whatever its own
# mount says; with --rw it can
# security

. "${0%/*}/../../lib/system.sh"

need_root
with_own_mounts

shown=$tmp/shown
mkdir -p "$shown/below"
mount -t tmpfs -o mode=1777 menace-test "$shown/below" || skip "no tmpfs can be mounted"
mkdir -m 1777 "$shown/below/deeper"
mount -t tmpfs -o mode=1777 menace-test "$shown/below/deeper" || fail "no second tmpfs can be mounted"
echo text >"$shown/below/file"
echo text >"$shown/below/deeper/file"
chmod -R a+rwX "$shown"

# shellcheck disable=SC2016 # for the shell inside
write='cat /shown/below/file /shown/below/deeper/file
	for place in /shown /shown/below /shown/below/deeper; do
		(echo x >"$place/new") 2>/dev/null && echo "$place written"
		(echo x >"$place/file") 2>/dev/null && echo "$place/file changed"
	done
	exit 0'
for options in "" "--level 2" "--unsafe --level 1" "--userns --level 2" "--userns --uid 0 --gid 0 --unsafe --level 1"; do
	# shellcheck disable=SC2086 # words
	run $options --ro "$shown:/shown" -- sh -c "$write"
	assert_status 0
	assert_eq "$stdout" $'text\ntext' "what is read and written with '$options'"
	assert_eq "$(find "$shown" -name new)" "" "files that are new on the host"
done
run --rw "$shown:/shown" -- sh -c 'echo x >/shown/below/deeper/new'
assert_eq "$status:$(cat "$shown/below/deeper/new")" 0:x "control: with --rw"
