#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# CVE-2026-87766, CVE-2025-24965: a parent folder of a mount point is a link in the
# workspace or the image, and the mount point is made where it leads
# security

. "${0%/*}/../../lib/system.sh"

need_program busybox
mkdir -p "$tmp/work/sub" "$tmp/out" "$tmp/source" "$tmp/root/bin" "$tmp/rw"
cp "$(command -v busybox)" "$tmp/root/bin/busybox"
echo data >"$tmp/source/file"
ln -s "$tmp/out" "$tmp/work/link"
ln -s ../../out "$tmp/work/sub/link"
ln -s "$tmp/out/dangling" "$tmp/work/dangling"
ln -s "$tmp/out" "$tmp/root/link"
ln -s "$tmp/out" "$tmp/rw/link"
ln -s / "$tmp/work/top"

attempt()
{
	local dest=$1 kind

	shift
	for kind in "--ro $tmp/source:$dest" "--rw $tmp/source:$dest" "--ro $tmp/source/file:$dest" \
		"--tmpfs $dest" "--tmpfs $dest:1m"; do
		# shellcheck disable=SC2086 # two words
		run "$@" $kind -- /bin/busybox true
		assert_refused "$dest" "is a symbolic link; it is not followed"
		assert_eq "$(ls -A "$tmp/out")" "" "folder behind the link after $kind"
	done
}
ours=(--workspace "$tmp/work" --ro "$(command -v busybox):/bin/busybox")
[ ! -L /bin ] || ours=(--workspace "$tmp/work")
attempt /work/link/new "${ours[@]}"
attempt /work/link "${ours[@]}"
attempt /work/sub/link/new/deep "${ours[@]}"
attempt /work/dangling "${ours[@]}"
attempt "/work/top$tmp/out/new" "${ours[@]}"
attempt /link/new --root "$tmp/root"
attempt /rw/link/new "${ours[@]}" --rw "$tmp/rw:/rw"

run "${ours[@]}" --hide /work/link/new -- true
assert_refused "hide: /work/link/new" "it is not followed"
for dest in /work/../etc/new work/new "" / /proc/self/root/x /dev/new; do
	run "${ours[@]}" --ro "$tmp/source:$dest" -- true
	assert_status 2
done
assert_eq "$(ls -A "$tmp/out")" "" "folder behind the links in the end"

# Without a link in the way it works, and the host's folder stays as it was.
run "${ours[@]}" --ro "$tmp/source:/work/fresh/deep" -- cat /work/fresh/deep/file
assert_eq "$status $stdout" "0 data" "mount in the workspace"
assert_absent "$tmp/work/fresh"
