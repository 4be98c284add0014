#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# .git may be a folder, a file (a worktree's), a link or missing: hiding it holds, or the run
# does not start
# security

. "${0%/*}/../../lib/system.sh"

mkdir -p "$tmp/work/.git/hooks" "$tmp/elsewhere/hooks"
echo secret >"$tmp/work/.git/config"
echo secret >"$tmp/elsewhere/config"
look='ls -A .git; cat .git .git/config; echo x >.git/hooks/pre-commit; echo x >.git; rm -rf .git; mv .git x; ls -A'

run --workspace "$tmp/work" --hide /work/.git -- sh -c "$look"
assert_not_contains "$stdout" secret "a folder"
assert_contains "$stdout" .git "names after the attack on a folder"
rm -r "$tmp/work/.git"
echo "gitdir: secret" >"$tmp/work/.git"
run --workspace "$tmp/work" --hide /work/.git -- sh -c "$look"
assert_not_contains "$stdout" secret "a file"
assert_eq "$(cat "$tmp/work/.git")" "gitdir: secret" "the file on the host"
rm "$tmp/work/.git"
for target in "$tmp/elsewhere" ../elsewhere none; do
	ln -sfn "$target" "$tmp/work/.git"
	run --workspace "$tmp/work" --hide /work/.git -- sh -c "$look"
	assert_refused "hide: /work/.git" "is a symbolic link; it is not followed"
done
rm "$tmp/work/.git"
run --workspace "$tmp/work" --hide /work/.git -- sh -c 'ls -A'
assert_eq "$status $stdout" "0 " "a missing one"
assert_absent "$tmp/work/.git"
