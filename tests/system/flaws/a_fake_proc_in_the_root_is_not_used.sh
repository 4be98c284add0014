#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# CVE-2019-16884, CVE-2019-19921, CVE-2023-27561, CVE-2023-28642, CVE-2025-52881: an
# image brings a /proc of its own, so that what the runtime writes there goes nowhere,
# or elsewhere
# security

. "${0%/*}/../../lib/system.sh"

need_root
need_program busybox unshare
mkdir -p "$tmp/root/bin" "$tmp/root/proc/self/attr" "$tmp/root/proc/sys/kernel" "$tmp/target"
cp "$(command -v busybox)" "$tmp/root/bin/busybox"
echo fake >"$tmp/root/proc/self/attr/exec"
echo fake >"$tmp/root/proc/version"
find "$tmp/root" "$tmp/target" -printf '%p %y %m %U %s %T@\n' | sort >"$tmp/before"

# Ours is there instead, and nothing of theirs was touched.
real='busybox stat -f -c %T /proc; busybox grep -c fake /proc/version; busybox grep " /proc " /proc/self/mountinfo'
run --root "$tmp/root" -- /bin/busybox sh -c "$real"
assert_match "$stdout" $'^proc\n0\n[^\n]* /proc ro,[^\n]* - proc ' "proc with a folder in its place"

# A tmpfs mounted there by somebody.
run_plain unshare -m sh -c 'mount -t tmpfs fake "$1/proc" && echo fake >"$1/proc/version" &&
	exec "$2" -q --root "$1" -- /bin/busybox sh -c "$3"' sh "$tmp/root" "$MENACE_RUN" "$real"
assert_match "$stdout" $'^proc\n0\n[^\n]* /proc ro,[^\n]* - proc ' "proc with a tmpfs in its place"

find "$tmp/root" "$tmp/target" -printf '%p %y %m %U %s %T@\n' | sort >"$tmp/after"
assert_eq "$(diff "$tmp/before" "$tmp/after")" "" "changes of the image"

rm -r "$tmp/root/proc"
ln -s "$tmp/target" "$tmp/root/proc"
run --root "$tmp/root" -- /bin/busybox true
assert_refused "root $tmp/root: proc is a symbolic link; it must be a folder or absent"
assert_eq "$(ls "$tmp/target")" "" "the folder behind the link"
