#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# A read-only mount lets a fifo be written, through which the payload could speak to somebody on the host;
# from level 3 on Landlock does not
# security

. "${0%/*}/../../lib/system.sh"

need_root

mkdir "$tmp/shown"
mkfifo "$tmp/shown/fifo"
chmod 755 "$tmp/shown"
chmod 666 "$tmp/shown/fifo"
# With a reader and a writer of its own to open it never waits.
exec 5<>"$tmp/shown/fifo"

# came: what somebody on the host reads of it.
came()
{
	local line

	echo end >&5
	while read -r line <&5 && [ "$line" != end ]; do echo "$line"; done
}

for options in "" --userns "--userns --uid 0 --gid 0" "--level 4"; do
	# shellcheck disable=SC2086 # words
	run $options --ro "$tmp/shown:/shown" -- sh -c 'echo hello >/shown/fifo'
	assert_status 2
	assert_contains "$stderr" "Permission denied" "message with '$options'"
	assert_eq "$(came)" "" "what came out of the fifo with '$options'"
done
run --level 2 --ro "$tmp/shown:/shown" -- sh -c 'echo hello >/shown/fifo'
assert_eq "$status:$(came)" 0:hello "control: without Landlock"
run --rw "$tmp/shown:/shown" -- sh -c 'echo hello >/shown/fifo'
assert_eq "$status:$(came)" 0:hello "control: in a folder that may be written"
