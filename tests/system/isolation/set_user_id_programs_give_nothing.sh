#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# No mount honours set-user-ID, and no_new_privs is set: neither a program of the host
# nor one that the caller brings makes the payload somebody else
# security

. "${0%/*}/../../lib/system.sh"

need_unprivileged_user
mkdir "$tmp/work"
cp /usr/bin/id "$tmp/id"
chown 0:0 "$tmp/id"
chmod 6755 "$tmp/id"
cp -p "$tmp/id" "$tmp/work/id"
run_plain "${as_user[@]}" "$tmp/id" -u
[ "$stdout" = 0 ] || skip "no set-user-ID programs in $tmp"

for options in "" --userns "--level 2" "--uid 12345"; do
	# shellcheck disable=SC2086 # words
	run $options --ro "$tmp/id:/opt/id" --workspace "$tmp/work" -- sh -c 'id -u; /opt/id -u; /work/id -u
		cp /opt/id /tmp/id; chmod 6755 /tmp/id; /tmp/id -u'
	assert_eq "$(sort -u "$tmp/stdout" | wc -l) $(wc -l <"$tmp/stdout")" "1 4" "different users with '$options'"
	run $options -- cat /proc/self/mountinfo
	assert_eq "$(awk '$6 !~ "nosuid"' "$tmp/stdout")" "" "mounts that honour set-user-ID with '$options'"
	assert_eq "$(awk '$6 ~ "^rw" && $5 !~ "^/(tmp|work|dev/shm|dev/pts)$"' "$tmp/stdout")" "" \
		"mounts that can be written with '$options'"
done
run -- sh -c 'su -c id; sudo id; mount; newgrp; passwd </dev/null; id -u'
assert_ne "$(tail -n 1 "$tmp/stdout")" 0 "user in the end"
