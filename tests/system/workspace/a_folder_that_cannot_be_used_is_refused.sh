#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# A workspace that is missing, a file or dangerous is refused and nothing runs

. "${0%/*}/../../lib/system.sh"

need_root

echo x >"$tmp/file"
ln -s "$tmp" "$tmp/link"
# refused FOLDER TEXT
refused()
{
	run --workspace "$1" -- echo started
	assert_ne "$status" 0
	assert_eq "$stdout" "" "standard output"
	assert_contains "$stderr" "$1"
	assert_contains "$stderr" "$2"
}
refused "$tmp/missing" "No such file or directory"
refused "$tmp/file" "irectory"
run --keep-changes "$tmp/out" -- true
assert_refused --keep-changes workspace
assert_absent "$tmp/out"

# Relative to the caller's folder, and through a link, is fine.
mkdir "$tmp/w" && echo text >"$tmp/w/f"
cd "$tmp" || fail
run --workspace w -- cat f
assert_eq "$status:$stdout" 0:text "relative"
run --workspace link/w -- cat f
assert_eq "$status:$stdout" 0:text "through a link"

# Links in a workspace do not lead out of it to the host.
ln -s "$tmp/file" w/out
run --workspace w -- sh -c 'cat out || echo nothing'
assert_eq "$stdout" nothing
