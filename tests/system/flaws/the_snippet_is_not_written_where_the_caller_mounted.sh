#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# CVE-2024-28185: the run script is written, by root, through a link planted in the
# box; a mask is copied from there (CVE-2025-31133)
# security

. "${0%/*}/../../lib/system.sh"

mkdir -p "$tmp/evil" "$tmp/target" "$tmp/secret" "$tmp/work/hidden" "$tmp/empty/pool" "$tmp/empty/lower"
echo "leaked" >"$tmp/secret/file"
ln -s "$tmp/target" "$tmp/evil/snippet"
ln -s "$tmp/secret" "$tmp/evil/mask"
ln -s "$tmp/secret/file" "$tmp/evil/mask-file"
printf '#!/bin/sh\necho ran\n' >"$tmp/snippet.sh"
find "$tmp/evil" "$tmp/target" "$tmp/secret" "$tmp/empty" -printf '%p %y %l %T@\n' | sort >"$tmp/before"

for dest in /run /run/snippet /run/snippet/deep /run/mask /run/mask-file /.menace /.menace/pool; do
	for mount in "--rw $tmp/evil:$dest" "--ro $tmp/evil:$dest" "--tmpfs $dest" "--tmpfs $dest:1m" \
		"--rw $tmp/empty:$dest"; do
		# shellcheck disable=SC2086 # two words
		run $mount --workspace "$tmp/work" --hide /work/hidden "$tmp/snippet.sh"
		assert_refused "$dest" "the sandbox keeps the snippet and what hides files there"
	done
done
find "$tmp/evil" "$tmp/target" "$tmp/secret" "$tmp/empty" -printf '%p %y %l %T@\n' | sort >"$tmp/after"
assert_eq "$(diff "$tmp/before" "$tmp/after")" "" "changes on the host"

# Beside them all is well, and a workspace of that shape changes nothing.
run --rw "$tmp/evil:/run/other" "$tmp/snippet.sh"
assert_eq "$status $stdout" "0 ran" "a mount beside"
mkdir "$tmp/work/run"
ln -s "$tmp/target" "$tmp/work/run/snippet"
ln -s "$tmp/target" "$tmp/work/.menace"
run --workspace "$tmp/work" --hide /work/hidden "$tmp/snippet.sh"
assert_eq "$status $stdout" "0 ran" "a workspace with such links"
assert_eq "$(ls -A "$tmp/target")" "" "the folder behind the links"
