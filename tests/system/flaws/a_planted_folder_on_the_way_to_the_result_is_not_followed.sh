#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# CVE-2024-28185, one folder further up: a link in place of a parent of the result
# security

. "${0%/*}/../../lib/system.sh"

mkdir -p "$tmp/rw/sub" "$tmp/host" "$tmp/own"
chmod 777 "$tmp/rw" "$tmp/rw/sub"
echo "host file" >"$tmp/host/result.json"

# Exchanged while the run goes on: the folder was opened before the program started, and the file is made in
# the end.
run_plain "$MENACE_RUN" -q -o "$tmp/rw/sub/result.json" --rw "$tmp/rw:/rw" -- sh -c "
	ls /rw/sub; mv /rw/sub /rw/was; ln -s '$tmp/host' /rw/sub"
assert_status 0
assert_eq "$stdout" "" "what the program found there"
assert_eq "$(cat "$tmp/host/result.json")" "host file" "the file behind"
assert_eq "$(jq -r .schema "$tmp/rw/was/result.json")" menace.result/1 "the result"
assert_eq "$(readlink "$tmp/rw/sub")" "$tmp/host" "the planted link"

# Left by that run: the next that shows the folder does not follow it, however it is named.
refused()
{
	local where=$1

	shift
	run_plain "$MENACE_RUN" -o "$where" "$@" -- echo ran
	assert_refused "--json $where: Too many levels of symbolic links"
	assert_eq "$(cat "$tmp/host/result.json")" "host file" "the file behind"
}
ln -s "$tmp/rw" "$tmp/own/link"
refused "$tmp/rw/sub/result.json" --rw "$tmp/rw:/rw"
refused "$tmp/rw/sub/result.json" --rw "$tmp/own/link/:/rw"
refused "$tmp/own/link/sub/result.json" --rw "$tmp/rw:/rw"
refused "$tmp/own/../rw//./sub/result.json" --ro /opt:/o --rw "$tmp/rw:/rw"
cd "$tmp" || exit 1
refused rw/sub/result.json --rw rw:/rw
refused ./rw/sub/new.json --rw "$tmp/rw:/rw"
cd rw/was || exit 1
refused ../sub/result.json --rw "$tmp/rw:/rw"
assert_absent "$tmp/host/new.json"

# The caller's own links go on working, and so do folders in what is shown.
mkdir "$tmp/rw/plain"
for where in "$tmp/own/link/result.json" "$tmp/rw/plain/result.json" "$tmp/own/link/plain/x/../r"; do
	mkdir -p "$tmp/rw/plain/x"
	run_plain "$MENACE_RUN" -q -o "$where" --rw "$tmp/rw:/rw" -- true
	assert_status 0
	assert_eq "$(jq -r .reason "$where")" exited "$where"
done
run_plain "$MENACE_RUN" -q -o ../plain/r2 --rw "$tmp/rw:/rw" -- true
assert_eq "$status $(jq -r .reason ../plain/r2)" "0 exited" "a relative path"
ln -s "$tmp/own" "$tmp/var"
run_plain "$MENACE_RUN" -q -o "$tmp/var/result.json" -- true
assert_eq "$status $(jq -r .reason "$tmp/own/result.json")" "0 exited" "a link of the caller's"
