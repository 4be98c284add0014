#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# CVE-2025-52565: the terminal was bound over the image's /dev/console by its path
# /dev/pts/N, either of which could be a link
# security

. "${0%/*}/../../lib/system.sh"

need_root
need_program busybox
mkdir -p "$tmp/root/bin" "$tmp/root/dev/pts"
cp "$(command -v busybox)" "$tmp/root/bin/busybox"
echo "host file" >"$tmp/target"
chmod 600 "$tmp/target"
for name in console ptmx tty pts/0 pts/ptmx; do
	ln -s "$tmp/target" "$tmp/root/dev/$name"
done
run --tty --root "$tmp/root" -- /bin/busybox sh -c \
	'busybox tty; busybox stat -c %F /dev/pts/0; busybox ls -A /dev; busybox test -e /dev/console || echo none'
assert_status 0
stdout=${stdout//$'\r'/}
assert_match "$stdout" $'^/dev/pts/0\ncharacter special file\n' "terminal"
assert_match "$stdout" $'\nnone$' "console"
assert_eq "$(cat "$tmp/target")" "host file" "the file behind the links"
assert_eq "$(stat -c '%a %u' "$tmp/target")" "600 0" "its mode and owner"
