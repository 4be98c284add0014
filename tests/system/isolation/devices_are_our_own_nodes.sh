#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# /dev holds six devices that do no harm, made by us and not by the host, and no others
# can be made
# security
# kernel gate

. "${0%/*}/../../lib/system.sh"

expected='full 1:7
null 1:3
random 1:8
tty 5:0
urandom 1:9
zero 1:5'
look='cd /dev; for f in *; do [ ! -c $f ] || [ -L $f ] || stat -c "%n %t:%T" $f; done
	for f in * pts/*; do [ -c $f ] || [ -L $f ] || [ -d $f ] || echo "other $f"; done
	find / -xdev \( -path /proc -o -path /dev \) -prune -o \( -type b -o -type c \) -print'
check()
{
	run "$@" -- sh -c "$look"
	assert_eq "$stdout" "$expected" "devices with '$*'"
	run "$@" -- sh -c 'echo x >/dev/null; head -c 4 /dev/zero | wc -c; head -c 4 /dev/urandom | wc -c
		echo x >/dev/full; rm -f /dev/null; mknod /dev/sda b 8 0; mknod /tmp/sda b 8 0; mknod /tmp/null c 1 3
		mknod /work/mem c 1 1; ls /tmp /work; (: >/dev/new); ls /dev/pts'
	assert_eq "$(tr '\n' ' ' <<<"$stdout")" "4 4 /tmp:  /work: ptmx " "output with '$*'"
	assert_match "$stderr" "I/O error|No space left" "write to /dev/full"
	assert_eq "$(grep -c -E "mknod: .*(denied|not permitted|Read-only)" "$tmp/stderr")" 4 "devices refused"
}
check
check --userns
check --level 2

# As root they are on a file system of ours, not the host's.
need_root
run -- cat /proc/self/mountinfo
assert_eq "$(awk '$5 ~ "^/dev" { print $5, $(NF - 2) }' "$tmp/stdout" | sort)" \
	$'/dev tmpfs\n/dev/pts devpts\n/dev/shm tmpfs' "mounts of /dev"
assert_eq "$(awk '$5 == "/dev" { print $6 }' "$tmp/stdout")" "ro,nosuid,noexec,relatime" "rights of /dev"
