#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# --ro, --rw, --tmpfs and --hide, nested in each other, give the same tree in
# any order of the options
#
# kernel

. "${0%/*}/../../lib/system.sh"

need_root

mkdir -p "$tmp/a/inner" "$tmp/b"
echo a >"$tmp/a/file"
echo inner >"$tmp/a/inner/file"
echo b >"$tmp/b/file"
chmod -R a+rwX "$tmp/a" "$tmp/b"

look='cat /data/file /data/deep/file /data/deep/b/file 2>&1
	for f in /data /data/deep /data/deep/b /data/tmp /data/gone; do
		touch $f/new 2>/dev/null && echo "$f writable" || echo "$f not"
	done
	ls /data/gone | wc -l'
mkdir -p "$tmp/a/deep/b" "$tmp/a/tmp" "$tmp/a/gone"
echo hidden >"$tmp/a/gone/file"
mkdir -p "$tmp/a/inner/b"
chmod -R a+rwX "$tmp/a"
options=("--ro=$tmp/a:/data" "--rw=$tmp/a/inner:/data/deep" "--ro=$tmp/b:/data/deep/b"
	"--tmpfs=/data/tmp:1m" "--hide=/data/gone")
expected='a
inner
b
/data not
/data/deep writable
/data/deep/b not
/data/tmp writable
/data/gone not
0'

run "${options[@]}" -- sh -c "$look"
assert_status 0
assert_eq "$stdout" "$expected" "in this order"
run "${options[4]}" "${options[3]}" "${options[2]}" "${options[1]}" "${options[0]}" -- sh -c "$look"
assert_eq "$stdout" "$expected" "in the opposite order"
run "${options[2]}" "${options[0]}" "${options[4]}" "${options[1]}" "${options[3]}" -- sh -c "$look"
assert_eq "$stdout" "$expected" "in a third order"

[ -f "$tmp/a/inner/new" ] || fail "--rw did not write to the host"
assert_absent "$tmp/a/new"
assert_absent "$tmp/a/tmp/new"
assert_absent "$tmp/b/new"
