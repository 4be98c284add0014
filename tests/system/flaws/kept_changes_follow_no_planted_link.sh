#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# CVE-2024-28185 for what is collected: the payload chose every name, and leaves links
# where files of the host would be read or written
# security

. "${0%/*}/../../lib/system.sh"

need_root
mkdir "$tmp/work" "$tmp/host" "$tmp/out"
echo "host secret" >"$tmp/host/file"
chmod 600 "$tmp/host/file"
echo old >"$tmp/work/file"
mkdir "$tmp/work/dir"
echo old >"$tmp/work/dir/file"
ln -s "$tmp/host" "$tmp/work/there"

# A link in place of the folder for the changes.
ln -s "$tmp/host" "$tmp/out/link"
ln -s "$tmp/host/new" "$tmp/out/dangling"
mkfifo "$tmp/out/fifo"
for out in link dangling fifo; do
	run --workspace "$tmp/work" --keep-changes "$tmp/out/$out" -- touch new
	assert_refused "keep changes" "$tmp/out/$out: "
	assert_eq "$(ls -A "$tmp/host")" file "names in the host folder"
done

run --workspace "$tmp/work" --keep-changes "$tmp/out/kept" -- sh -c '
	rm file; ln -s "'"$tmp/host/file"'" file
	rm -r dir; ln -s "'"$tmp/host"'" dir
	echo overwritten >there/file; echo overwritten >there/new
	ln -s /etc/shadow absolute; ln -s ../../../../../../../etc/shadow relative
	ln -s /proc/self/fd/0 magic; ln -s . loop
	mkfifo fifo; mkdir real; echo data >real/file; ln real/file hard; ln /etc/hostname hard-host
	mkdir -p "deep/$(printf "%0200d" 0)/x"; ln -s "'"$tmp/host"'" "deep/$(printf "%0200d" 0)/link"
	printf x >"$(printf "new\nline")"; : >"-rf"' 2>/dev/null
assert_status 0
assert_eq "$(cat "$tmp/host/file")" "host secret" "the host file"
assert_eq "$(stat -c '%a %u %h' "$tmp/host/file")" "600 0 1" "its mode, owner and links"
assert_eq "$(ls -A "$tmp/host")" file "names in the host folder"
cd "$tmp/out/kept" || fail "nothing was kept"
assert_eq "$(readlink file dir absolute relative magic)" "$tmp/host/file
$tmp/host
/etc/shadow
../../../../../../../etc/shadow
/proc/self/fd/0" "links kept as links"
assert_absent fifo
assert_eq "$(cat real/file hard)" $'data\ndata' "files kept"
assert_eq "$(find . -type f -links +1)" "" "files kept with a second name"
assert_eq "$(grep -r "host secret" . 2>/dev/null)" "" "contents of the host kept"
assert_eq "$(json '[.workspace.changes.entries[] | select(.path | startswith("/") or contains(".."))] | length')" 0 \
	"paths that leave the workspace"
