#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# CVE-2024-28185 read: a link that an earlier run left in place of the file, or the folder,
# that standard input is taken from would give the program what only the caller may read
# security

. "${0%/*}/../../lib/system.sh"

mkdir -p "$tmp/rw/sub" "$tmp/host" "$tmp/own"
chmod 777 "$tmp/rw" "$tmp/rw/sub"
echo "host secret" >"$tmp/host/in"
chmod 600 "$tmp/host/in"
run --rw "$tmp/rw:/rw" -- sh -c "
	ln -s '$tmp/host/in' /rw/in; mv /rw/sub /rw/was; ln -s '$tmp/host' /rw/sub; echo mine >/rw/was/in"
assert_status 0
for stdin in in sub/in; do
	run --rw "$tmp/rw:/rw" --stdin "$tmp/rw/$stdin" -- cat
	assert_refused "standard input $tmp/rw/$stdin: Too many levels of symbolic links"
	assert_eq "$stdout" "" "what the program read"
done

# What is no link is read, and so is what the caller's own links lead to.
run --rw "$tmp/rw:/rw" --stdin "$tmp/rw/was/in" -- cat
assert_eq "$status $stdout" "0 mine"
ln -s "$tmp/host/in" "$tmp/own/in"
run --rw "$tmp/rw:/rw" --stdin "$tmp/own/in" -- cat
assert_eq "$status $stdout" "0 host secret"
