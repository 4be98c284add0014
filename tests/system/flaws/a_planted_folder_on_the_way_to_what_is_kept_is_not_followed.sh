#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# CVE-2024-28185 for --keep-changes, one folder further up: a link in place of a parent of
# the folder that what changed is copied to
# security

. "${0%/*}/../../lib/system.sh"

mkdir -p "$tmp/work" "$tmp/rw/sub" "$tmp/host" "$tmp/own"
chmod 777 "$tmp/work" "$tmp/rw" "$tmp/rw/sub"
plant="echo planted >/work/job; mv /rw/sub /rw/was; ln -s '$tmp/host' /rw/sub"

# Exchanged while the run goes on: the folder was opened before the program started.
run --workspace "$tmp/work" --keep-changes "$tmp/rw/sub/kept" --rw "$tmp/rw:/rw" -- sh -c "
	ls /rw/sub; $plant"
assert_status 0
assert_eq "$stdout" kept "what the program found there"
assert_eq "$(ls -A "$tmp/host")" "" "names in the host's folder"
assert_eq "$(cat "$tmp/rw/was/kept/job")" planted "what was kept"
assert_eq "$(readlink "$tmp/rw/sub")" "$tmp/host" "the planted link"
assert_eq "$(json .workspace.kept.files)" 1 "files kept"

# The last name exchanged, too.
mkdir "$tmp/rw/last"
chmod 777 "$tmp/rw/last"
run --workspace "$tmp/work" --keep-changes "$tmp/rw/last/kept" --rw "$tmp/rw:/rw" -- sh -c "
	echo planted >/work/job; mv /rw/last/kept /rw/last/was && ln -s '$tmp/host' /rw/last/kept"
assert_status 0
assert_eq "$(ls -A "$tmp/host")" "" "names in the host's folder"
assert_eq "$(cat "$tmp/rw/last/was/job")" planted "what was kept"

# Left by those runs: the next that shows the folder does not follow it, however it is named.
refused()
{
	local where=$1

	shift
	run --workspace "$tmp/work" --keep-changes "$where" "$@" -- sh -c "echo ran; $plant"
	assert_refused "keep changes" "$where: Too many levels of symbolic links"
	assert_eq "$(ls -A "$tmp/host")" "" "names in the host's folder"
}
ln -s "$tmp/rw" "$tmp/own/link"
refused "$tmp/rw/sub/kept" --rw "$tmp/rw:/rw"
refused "$tmp/rw/sub/kept/" --rw "$tmp/rw:/rw"
refused "$tmp/rw/sub/kept" --rw "$tmp/own/link/:/rw"
refused "$tmp/own/link/sub/kept" --rw "$tmp/rw:/rw"
refused "$tmp/own/../rw//./sub/kept" --ro /opt:/o --rw "$tmp/rw:/rw"
cd "$tmp" || exit 1
refused rw/sub/kept --rw rw:/rw
cd rw/was || exit 1
refused ../sub/kept --rw "$tmp/rw:/rw"

# The caller's own links go on working, and so do folders in what is shown.
ln -s "$tmp/own" "$tmp/var"
mkdir -p "$tmp/rw/plain"
for where in "$tmp/var/kept" "$tmp/own/link/kept" "$tmp/rw/plain/kept/" ../plain/kept2 kept2; do
	run --workspace "$tmp/work" --keep-changes "$where" --rw "$tmp/rw:/rw" -- \
		sh -c 'echo mine >/work/job'
	assert_status 0
	assert_eq "$(cat "$where/job")" mine "$where"
done
