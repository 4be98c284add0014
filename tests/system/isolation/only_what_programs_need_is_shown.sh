#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# The root holds what programs need and nothing else of the host: no /sys, no homes, no
# logs, no services
# security

. "${0%/*}/../../lib/system.sh"

check()
{
	run "$@" -- sh -c 'ls -A / | grep -v -x -E "usr|lib(32|64|x32)?|s?bin"; ls -A /run /var'
	assert_eq "$(tr '\n' ' ' <<<"$stdout")" \
		"dev etc proc run tmp var work /run: mask mask-file snippet  /var: tmp " "names with '$*'"
	run "$@" -- sh -c 'ls -d /sys /root /home /boot /srv /mnt /media /opt /lost+found /.menace /.dockerenv /usr'
	assert_eq "$stdout" /usr "which of the host's other folders are there with '$*'"
	run "$@" -- sh -c 'ls -A /run/mask /tmp /dev/shm /work
		for f in /etc/shadow /etc/gshadow /etc/sudoers /etc/ssh /etc/ssl/private /etc/machine-id /etc/fstab \
			/var/log /var/lib /run/systemd /run/dbus /run/menace; do [ ! -e $f ] || echo $f; done'
	assert_eq "$stdout" $'/dev/shm:\n\n/run/mask:\n\n/tmp:\n\n/work:' "what is in empty places, with '$*'"
}
check
check --userns
check --level 2

# Nothing but our own places can be written.
run -- sh -c 'for dir in $(find / -xdev -type d) /dev /dev/pts /usr /usr/bin /etc /proc; do
	[ "$dir" = /tmp ] || (: >"$dir/menace-written") 2>/dev/null && echo "$dir"; done'
assert_eq "$(grep -v -x -E '/tmp|/work|/dev/shm' "$tmp/stdout")" "" "folders that can be written"
