#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Names, groups, homes and the name of the host are made up; who runs it is not told
# security

. "${0%/*}/../../lib/system.sh"

check()
{
	run "$@" -- sh -c 'cut -d: -f1 /etc/passwd /etc/group; getent passwd | wc -l; hostname; cat /etc/hostname; uname -n'
	assert_eq "$(tr '\n' ' ' <<<"$stdout")" \
		"root sandbox nobody root sandbox nogroup 3 sandbox sandbox sandbox " "names with '$*'"
	run "$@" -- sh -c 'id -un; id -gn; id -G | wc -w; echo $HOME $USER; ls /home /root /etc/shadow 2>/dev/null; whoami'
	assert_eq "$(tr '\n' ' ' <<<"$stdout")" "sandbox sandbox 1 /work sandbox sandbox " "identity with '$*'"
}
check
check --userns
check --level 2

run -- sh -c 'cat /etc/passwd /etc/group /etc/hosts /etc/resolv.conf /proc/sys/kernel/hostname'
assert_not_contains "$stdout" "$(uname -n)" "the host's name"
while IFS=: read -r name _ uid _; do
	case $name in
	root | nobody | sandbox) ;;
	*) [ "$uid" -lt 1000 ] || assert_no_match "$stdout" "(^|"$'\n'")$name:" "users" ;;
	esac
done </etc/passwd
