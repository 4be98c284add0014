#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# A folder on a file system that knows no idmapped mounts is refused, or shown as it is where
# --best-effort says so, and then the receipt says which and why

. "${0%/*}/../../lib/system.sh"

need_root

mkdir "$tmp/ram"
mount -t ramfs none "$tmp/ram" 2>/dev/null || skip "no ramfs to mount"
at_exit umount "$tmp/ram"
mkdir "$tmp/ram/work"
echo data >"$tmp/ram/work/file"
chown -R 4321:4321 "$tmp/ram/work"
why="$tmp/ram/work: its file system cannot show its owner as the payload (idmapped mount): Invalid argument"

for how in "--workspace $tmp/ram/work" "--rw $tmp/ram/work:/work"; do
	# shellcheck disable=SC2086 # words
	run $how -- cat /work/file
	assert_status 125
	assert_contains "$stderr" "$why; use a directory on another file system, --uid 4321 --gid 4321, or --best-effort workspace-idmap"
	# shellcheck disable=SC2086 # words
	run $how --best-effort workspace-idmap -- sh -c 'cat /work/file; stat -c %u /work/file'
	assert_status 0
	assert_eq "$stdout" "data
4321" "what it holds, and whose it is"
	assert_eq "$(json '.receipt.degraded | map("\(.item): \(.why)") | join("\n")')" "workspace-idmap: $why"
done

# What can be is.
mkdir "$tmp/plain"
chown 4321:4321 "$tmp/plain"
run --workspace "$tmp/plain" --best-effort workspace-idmap -- true
assert_status 0
assert_eq "$(json '.receipt.degraded | length')" 0 "what is told of a folder that can be"
