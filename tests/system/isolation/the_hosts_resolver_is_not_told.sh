#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# /etc/resolv.conf is ours without a network, and read through its link with the host's,
# so that no path into /run is needed
# security

. "${0%/*}/../../lib/system.sh"

for options in "" --userns "--net loopback"; do
	# shellcheck disable=SC2086 # words
	run $options -- sh -c '[ -L /etc/resolv.conf ] && echo link; grep -c -i nameserver /etc/resolv.conf; cat /etc/hosts'
	assert_match "$stdout" $'^0\n127.0.0.1 localhost sandbox\n::1 localhost' "resolver with '$options'"
done
need_file /etc/resolv.conf
run --net host -- sh -c '[ -L /etc/resolv.conf ] && echo link; cat /etc/resolv.conf'
assert_eq "$stdout" "$(cat /etc/resolv.conf)" "the host's resolver, asked for"

# A link into /run, which the sandbox does not have, and a dangling one.
need_root
need_program unshare
mkdir "$tmp/etc"
# What programs need of it, and no more: to copy all takes seconds.
cp -a /etc/passwd /etc/group /etc/nsswitch.conf /etc/ld.so.* /etc/alternatives "$tmp/etc/" || fail "no copy of /etc"
echo "nameserver 192.0.2.7" >"$tmp/resolver"
for target in "$tmp/resolver" "$tmp/none"; do
	run_plain unshare -m sh -c 'ln -sfn "$2" "$1/etc/resolv.conf" && mount --bind "$1/etc" /etc &&
		exec "$3" -q --net host -- sh -c "cat /etc/resolv.conf"' sh "$tmp" "$target" "$MENACE_RUN"
	assert_status 0
	case $target in
	*/resolver) assert_eq "$stdout" "nameserver 192.0.2.7" "a link into /run" ;;
	*) assert_not_contains "$stdout" nameserver "a dangling link" ;;
	esac
done
