#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# isolate before 2.6: a rule for a path that may or may not be there told whether it is.
# Neither the payload nor a caller without rights learns what exists on the host
# security

. "${0%/*}/../../lib/system.sh"

need_unprivileged_user
install -d -m 700 "$tmp/closed"
touch "$tmp/closed/there"
mkdir "$tmp/closed/folder"
install -d -o 65534 -g 65534 "$tmp/user"
export XDG_RUNTIME_DIR=$tmp/user

# Inside: what is on the host and what is nowhere.
probe='for p in "$@"; do (cat <"$p") 2>&1 | sed "s,$p,PATH,g"; ls -d "$p" 2>&1 | sed "s,$p,PATH,g"
	(: >>"$p") 2>&1 | sed "s,$p,PATH,g"; done | sort -u'
for options in "" --userns "--level 2"; do
	# shellcheck disable=SC2086 # words
	run $options -- sh -c "$probe" sh /home/nobody/nothing /nowhere/nothing
	nowhere=$stdout
	assert_contains "$nowhere" "No such file" "answer for what is nowhere"
	# shellcheck disable=SC2086 # words
	run $options -- sh -c "$probe" sh /root/.bashrc /boot/grub "$repo/README.md" "$tmp/closed/there" \
		/var/lib/dpkg/status
	assert_eq "$stdout" "$nowhere" "answers for what the host has, with '$options'"
done
run -- sh -c 'for i in 1 99999; do (cat "/proc/$i/status") 2>&1 | sed "s/$i/N/"; done | sort -u | wc -l'
assert_eq "$stdout" 1 "answers for init and for nobody"

# Outside: a caller gets the same words for a path that he may not see, there or not.
ours=("${as_user[@]}" "$MENACE_RUN" --best-effort cgroup)
words()
{
	run_plain "${ours[@]}" "$@"
	assert_status 2
	assert_eq "$stdout" "" "standard output"
	stderr=${stderr//there/PATH}
	stderr=${stderr//nothing/PATH}
}
for option in --ro --rw --workspace --root --stdin; do
	words $option "$tmp/closed/there" -- true
	there=$stderr
	assert_contains "$there" "Permission denied" "message for $option"
	words $option "$tmp/closed/nothing" -- true
	assert_eq "$stderr" "$there" "message for $option"
done
words --lang sh -- "$tmp/closed/there"
there=$stderr
words --lang sh -- "$tmp/closed/nothing"
assert_eq "$stderr" "$there" "message for a snippet"
