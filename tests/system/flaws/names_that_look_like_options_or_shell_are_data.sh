#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# CVE-2024-32462 (a program named --bind became an option), CVE-2020-17367 (options after
# "--"), CVE-2020-17368 (shell characters in a file name)
# security

. "${0%/*}/../../lib/system.sh"

mkdir "$tmp/cwd"
cd "$tmp/cwd" || exit 1
printf '#!/bin/sh\necho "ran $0 $*"\n' >"$tmp/script"
chmod 755 "$tmp/script"

# A program whose name is one of our options, or of a tool's we do not use.
for name in --bind --rw=x --root=x -v --version --help -oX '--cwd=x' '-c' '--'; do
	cp "$tmp/script" "$tmp/cwd/$name"
	run --ro "$tmp/cwd:/opt/names" -e "PATH=/opt/names:/usr/bin:/bin" -- "$name" --rw / --net host
	assert_eq "$status $stdout" "0 ran /opt/names/$name --rw / --net host" "program $name"
	assert_eq "$(json .receipt.network.mode)" none "network"
	rm -- "$tmp/cwd/$name"
done

# Arguments after the program are its own.
run sh -c 'echo "$@"' sh --net host --rw / -o x --level 1
assert_eq "$stdout" "--net host --rw / -o x --level 1" "arguments"
assert_absent x

# Shell characters in every name that a request holds.
evil='a;$(touch pwned)`touch pwned`|touch pwned&'$'\n''touch pwned'
mkdir "$evil"
cp "$tmp/script" "$evil/$evil.sh"
run "$evil/$evil.sh" "$evil"
assert_status 0
assert_contains "$stdout" "ran /run/snippet/$evil.sh $evil" "snippet"
run_plain "$MENACE_RUN" -q -o "$tmp/$evil.json" --workspace "$evil" --ro "$tmp/cwd/$evil:/mnt/$evil" \
	--tmpfs "/t/$evil" --hide "/work/$evil.sh" -e "X=$evil" --cwd "/mnt/$evil" -- sh -c 'pwd; cat "$(ls)"'
assert_eq "$status $stderr" "0 " "a run with such names"
assert_contains "$stdout" "/mnt/$evil" "working directory"
[ -s "$tmp/$evil.json" ] || fail "no result under its own name"
run --hostname "$evil" -- true
assert_status 2
run --keep-changes "$tmp/$evil.out" --workspace "$evil" -- touch "$evil"
assert_status 0
[ -e "$tmp/$evil.out/$evil" ] || fail "the change was not kept under its own name"
assert_eq "$(find "$tmp" -name pwned)" "" "files made by a shell"
