#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# --ro shows, --rw changes the host, --tmpfs is empty and capped, --hide empties,
# --root replaces the file system
#
# security

. "${0%/*}/../../lib/system.sh"

need_root
need_system_program busybox

mkdir "$tmp/dir"
echo text >"$tmp/dir/file"
chmod -R a+rwX "$tmp/dir"

run --ro "$tmp/dir" -- sh -c "cat '$tmp/dir/file'; echo x >>'$tmp/dir/file' || echo refused"
assert_contains "$stdout" $'text\nrefused'
assert_contains "$stderr" "Read-only file system"
run --ro "$tmp/dir/file:/f" -- cat /f
assert_eq "$stdout" text "one file"

run --rw "$tmp/dir:/d" -- sh -c 'echo more >>/d/file; echo new >/d/new'
assert_status 0
assert_eq "$(cat "$tmp/dir/file" "$tmp/dir/new")" $'text\nmore\nnew'

run --tmpfs /scratch:64k -- sh -c 'ls -A /scratch; head -c 32768 /dev/zero >/scratch/a && echo fits
	head -c 65536 /dev/zero >/scratch/b 2>/dev/null || echo full'
assert_eq "${stdout//$'\n'/ }" "fits full"

run --hide /usr/share -- sh -c 'ls -A /usr/share | wc -l'
assert_eq "$stdout" 0
run --hide /etc/passwd -- sh -c 'wc -c </etc/passwd'
assert_eq "$stdout" 0

# A root of one static program.
mkdir -p "$tmp/root/bin" "$tmp/root/etc"
cp /usr/bin/busybox "$tmp/root/bin/"
ldd /usr/bin/busybox >/dev/null 2>&1 && skip "busybox is not static"
ln -s busybox "$tmp/root/bin/sh"
run --root "$tmp/root" -- sh -c 'echo in; [ -d /usr/share ] && echo host; echo x >/new || echo refused'
assert_status 0
assert_eq "${stdout//$'\n'/ }" "in refused"
assert_absent "$tmp/root/new"
