#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# CVE-2026-41579, CVE-2026-47766: /dev of the image is a link, so that devices are
# made on the host
# security

. "${0%/*}/../../lib/system.sh"

need_root
need_program busybox
mkdir -p "$tmp/root/bin" "$tmp/target/pts" "$tmp/target/shm"
cp "$(command -v busybox)" "$tmp/root/bin/busybox"
find "$tmp/target" -printf '%p %y %m %T@\n' | sort >"$tmp/before"

for name in dev proc sys tmp run work var etc .menace; do
	for target in "$tmp/target" /etc ../target .; do
		ln -sfn "$target" "$tmp/root/$name"
		run --root "$tmp/root" -- /bin/busybox true
		assert_refused "root $tmp/root: $name is a symbolic link; it must be a folder or absent"
	done
	ln -sfn "$tmp/target" "$tmp/root/$name"
	run --userns --root "$tmp/root" -- /bin/busybox true
	assert_refused "root $tmp/root: $name is a symbolic link; it must be a folder or absent"
	rm "$tmp/root/$name"
	# As a folder it is ours all the same.
	mkdir -p "$tmp/root/$name/pts" "$tmp/root/$name/snippet" "$tmp/root/$name/pool"
	run --root "$tmp/root" -- /bin/busybox sh -c "busybox touch /$name/new; busybox ls -A /dev"
	assert_status 0
	assert_contains "$stdout" $'null\n' "devices with a folder $name"
	assert_eq "$(cd "$tmp/root/$name" && echo *)" "pool pts snippet" "folder $name"
	rm -r "${tmp:?}/root/$name"
done
find "$tmp/target" -printf '%p %y %m %T@\n' | sort >"$tmp/after"
assert_eq "$(diff "$tmp/before" "$tmp/after")" "" "changes behind the link"
