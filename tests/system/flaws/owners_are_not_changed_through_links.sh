#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# CVE-2024-28189: a chown of what the payload left follows a link, or reaches a file of
# the host by a second name
# security

. "${0%/*}/../../lib/system.sh"

need_root
mkdir "$tmp/work" "$tmp/host" "$tmp/rw"
echo secret >"$tmp/host/file"
echo secret >"$tmp/host/hard"
chmod 600 "$tmp/host/file" "$tmp/host/hard"
ln -s "$tmp/host/file" "$tmp/work/link"
ln -s "$tmp/host/file" "$tmp/rw/link"
ln "$tmp/host/hard" "$tmp/work/hard"
ln "$tmp/host/hard" "$tmp/rw/hard"
chown -h 65534:65534 "$tmp/work" "$tmp/rw" "$tmp/work/link" "$tmp/rw/link"
find "$tmp/work" "$tmp/host" "$tmp/rw" -printf '%p %m %U:%G %n\n' | sort >"$tmp/before"

attack='for f in /work/link /work/hard /rw/link /rw/hard; do
		chown -h 65534 $f; chown 65534 $f; chmod 777 $f; cat $f; echo overwritten >$f
	done; ln /rw/hard /rw/again; ln -P /rw/link /rw/link2 && rm /rw/link2'
for options in "" --userns "--uid 1 --gid 1" "--level 2"; do
	rm -rf "$tmp/out"
	# shellcheck disable=SC2086 # words
	run $options --workspace "$tmp/work" --rw "$tmp/rw:/rw" --keep-changes "$tmp/out" -- \
		sh -c "$attack"
	assert_not_contains "$stdout" secret "output with '$options'"
	find "$tmp/work" "$tmp/host" "$tmp/rw" -printf '%p %m %U:%G %n\n' | sort >"$tmp/after"
	assert_eq "$(diff "$tmp/before" "$tmp/after")" "" "changes on the host with '$options'"
	assert_eq "$(cat "$tmp/host/file" "$tmp/host/hard")" $'secret\nsecret' "host files"
done
