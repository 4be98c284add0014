#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Whatever is done in a workspace, the host's folder is the same afterwards to
# the byte: contents, modes, owners, times, links

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/workspace.sh"

need_root

hash_tree()
{
	(cd "$1" && find . -printf "%p %y %m %U %G %T@ %s %l\n" | sort && find . -type f -print0 |
		sort -z | xargs -0 -r sha256sum) | sha256sum
}

make_tree()
{
	rm -rf "$1"
	mkdir -p "$1/dir/deep" "$1/empty" "$1/private"
	echo one >"$1/one"
	echo two >"$1/dir/two"
	seq 1 40000 >"$1/dir/deep/big"
	ln -s one "$1/link"
	ln -s /etc/passwd "$1/absolute"
	ln -s missing "$1/dangling"
	ln "$1/one" "$1/hard"
	mkfifo "$1/fifo"
	echo secret >"$1/private/file"
	printf '#!/bin/sh\necho run\n' >"$1/script"
	chmod 755 "$1/script"
	chmod 444 "$1/dir/two"
	chmod 700 "$1/private"
	touch -d @1000000000.123456789 "$1/one" "$1/dir" "$1/dir/two"
}

change='
	echo changed >one
	echo appended >>hard
	chmod 600 script
	touch -d @1 private/file
	rm link absolute; ln -s elsewhere link
	rm fifo; echo file >fifo
	mv script moved
	mkdir -p a/b/c
	truncate -s 1M sparse
	chmod 777 .
	touch -d @5 .
	find . | wc -l >/dev/null'

replace='
	rm -rf dir empty
	mkdir dir; echo new >dir/new'

for options in "" "--userns" "--level 2" "--keep-changes $tmp/kept" "--uid 0 --gid 0 --userns"; do
	make_tree "$tmp/w"
	before=$(hash_tree "$tmp/w")
	case $options in
	*--userns*) userns_marks_folders && folders=$replace || folders= ;;
	*) folders=$replace ;;
	esac
	# shellcheck disable=SC2086 # words
	run $options --workspace "$tmp/w" -- sh -ec "$folders$change"
	assert_status 0
	assert_eq "$(hash_tree "$tmp/w")" "$before" "the folder after a run with '$options'"
done

run --workspace "$tmp/w" -t 0.3 -- sh -c "$replace$change; yes >filler"
assert_eq "$(hash_tree "$tmp/w")" "$before" "the folder after a killed run"
