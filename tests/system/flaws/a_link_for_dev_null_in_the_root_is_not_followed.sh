#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# CVE-2025-31133: masks were made of the image's own /dev/null, which was a link to
# what should be masked
# security

. "${0%/*}/../../lib/system.sh"

need_root
need_program busybox
mkdir -p "$tmp/root/bin" "$tmp/root/dev" "$tmp/work/dir"
cp "$(command -v busybox)" "$tmp/root/bin/busybox"
echo "host file" >"$tmp/target"
echo "hidden" >"$tmp/work/file"
echo "hidden" >"$tmp/work/dir/file"

for target in /proc/sysrq-trigger "$tmp/target" /proc/interrupts; do
	for name in null zero full random urandom tty shm pts fd stdin; do
		ln -sfn "$target" "$tmp/root/dev/$name"
	done
	run --root "$tmp/root" --workspace "$tmp/work" --hide /work/file --hide /work/dir -- \
		/bin/busybox sh -c 'busybox stat -c "%F %t:%T" /dev/null; echo x >/dev/null
			busybox wc -c </work/file; busybox ls -A /work/dir
			busybox wc -c </proc/interrupts; echo h >/proc/sysrq-trigger
			echo >/proc/interrupts; busybox grep -c "/run/mask" /proc/self/mountinfo'
	assert_match "$stdout" $'^character special file 1:3\n0\n0\n[1-9][0-9]*$' "output for $target"
	assert_eq "$(grep -c -E "/proc/(sysrq-trigger|interrupts): " "$tmp/stderr")" 2 \
		"refused writes for $target"
done
assert_eq "$(cat "$tmp/target")" "host file" "the file behind the link"
# Every mask is of our own root, which is a tmpfs.
run --root "$tmp/root" -- /bin/busybox cat /proc/self/mountinfo
assert_eq "$(awk '$5 ~ "^/proc/" && ($4 !~ "^/run/mask" || $6 !~ "^ro," || $0 !~ " - tmpfs ")' \
	<<<"$stdout")" "" "masks that are not ours"
