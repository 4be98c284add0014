#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# --ro and --hide of a path below a writable folder hold whatever the program renames, removes
# or makes above that path; what cannot be held is refused
# security

. "${0%/*}/../../lib/system.sh"

payload='
	exec 2>&1
	mv .git x; rm -rf .git/hooks; mkdir -p .git/hooks x/hooks
	echo evil >.git/hooks/pre-commit; mv .git/hooks .git/h; mv a b; mv a/.git a/x
	python3 -c "import os; os.rename(\".git\", \".tig\")"
	echo fine >.git/config && mv .git/config .git/c && echo fine >new && mv new newer
	exit 0'
need_system_program python3
where=$tmp/g
fresh()
{
	rm -rf "$tmp/g"
	mkdir -p "$tmp/g/.git/hooks" "$tmp/g/a/.git"
	echo host >"$tmp/g/.git/hooks/sample"
	chmod -R a+rwX "$tmp/g"
}

held()
{
	fresh
	run --cwd "$inside" "$@" -- sh -c "$payload"
	assert_status 0
	assert_contains "$stdout" "cannot move '.git' to 'x': Device or resource busy"
	[ "$inside" = /work ] && return
	assert_eq "$(cd "$tmp/g" && find . -type f | sort | tr '\n' ' ')" \
		"./.git/c ./.git/hooks/sample ./newer " "files on the host with $*"
	assert_eq "$(cat "$tmp/g/.git/hooks/sample")" host "the file below"
}

inside=/w
held --rw "$where:/w" --ro "$where/.git/hooks:/w/.git/hooks" --hide /w/a/.git
held --rw "$where:/w" --ro "$where/a/.git:/w/a/.git" --hide /w/.git/hooks
held --userns --rw "$where:/w" --ro "$where/.git/hooks:/w/.git/hooks" --ro "$where/a/.git:/w/a/.git"
held --level 2 --rw "$where:/w" --hide /w/.git/hooks --hide /w/a/.git
inside=/work
held --workspace "$where" --hide /work/.git/hooks --hide /work/a/.git

# Not there, in a folder of the host that the program may write: it could be made.
fresh
rm -rf "$where/.git"
run_plain "$MENACE_RUN" --rw "$where:/w" --hide /w/.git/hooks -- sh -c 'mkdir -p /w/.git/hooks'
assert_refused "hide: /w/.git/hooks: .git is not there, and the program could make it"
assert_absent "$where/.git"

# Not there, where nobody can make it: nothing to do.
run --ro "$where:/r" --hide /r/none/at/all --hide /nowhere/x -- sh -c 'mkdir /r/none /nowhere; ls -d /r/none /nowhere'
assert_status 2
assert_eq "$stdout" "" "what was made"
