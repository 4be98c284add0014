#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# git in a workspace: init, add, commit, status, branch, worktree, gc; the host's
# repository does not change by a byte

. "${0%/*}/../../lib/system.sh"

need_root
need_system_program git

hash_tree()
{
	(cd "$1" && find . -printf '%p %y %m %T@ %s %l\n' | sort && find . -type f -print0 |
		sort -z | xargs -0 sha256sum) | sha256sum
}

git=(git -c user.name=a -c user.email=a@example.org -c init.defaultBranch=main)
mkdir "$tmp/repo"
(
	cd "$tmp/repo" && "${git[@]}" init -q && echo one >file && mkdir dir && echo two >dir/file &&
		"${git[@]}" add . && "${git[@]}" commit -q -m first
) || fail "the host's git failed"
before=$(hash_tree "$tmp/repo")

run -t "$(scaled 60)" --workspace "$tmp/repo" -- sh -ec '
	git status --short
	git config user.name b
	git config user.email b@example.org
	git log --format=%s
	echo more >>file
	rm dir/file
	git add -A
	git commit -q -m second
	git log --format=%s
	git checkout -q -b topic HEAD~1
	cat file
	git worktree add -q /tmp/tree main
	git -C /tmp/tree log --format=%s
	git gc -q
	git fsck --no-progress
	git clone -q . /tmp/clone
	git -C /tmp/clone log --format=%s'
assert_status 0
assert_eq "${stdout//$'\n'/ }" "first second first one second first first" "output"
assert_eq "$(json .denials.total)" 0 "denials"
assert_eq "$(hash_tree "$tmp/repo")" "$before" "the host's repository"

run -t "$(scaled 60)" -- sh -ec 'git init -q x; cd x; git config user.name b; git config user.email b@e
	echo a >a; git add a; git commit -q -m fresh; git log --format=%s'
assert_status 0
assert_eq "$stdout" fresh "a repository of its own"

# .git as a file: a worktree of the host.
(cd "$tmp/repo" && "${git[@]}" worktree add -q "$tmp/tree") || fail "the host's git failed"
before=$(hash_tree "$tmp/tree")
# What is mounted with --ro belongs to others, which git wants to be told.
run -t "$(scaled 60)" --workspace "$tmp/tree" --ro "$tmp/repo" -e GIT_CONFIG_COUNT=1 \
	-e GIT_CONFIG_KEY_0=safe.directory -e 'GIT_CONFIG_VALUE_0=*' -- sh -ec 'git status --short; git log --format=%s; echo x >file'
assert_status 0
assert_eq "$stdout" first "in a worktree"
assert_eq "$(hash_tree "$tmp/tree")" "$before" "the host's worktree"
