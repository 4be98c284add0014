#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Without a network there is a loopback link that is down and has no address, so that processes inside have
# no way to meet by it that no filter judges; with --net loopback it is up
# security

. "${0%/*}/../../lib/system.sh"

need_system_program perl

# shellcheck disable=SC2016 # of Perl
look='use Socket;
socket(my $s, PF_INET, SOCK_DGRAM, 0) or die "socket: $!\n";
opendir(my $d, "/proc/sys/net/ipv4/conf") or die "conf: $!\n";
for my $link (sort grep { !/^(\.|all|default)/ } readdir $d) {
	my $request = pack("a16 x24", $link);
	ioctl($s, 0x8913, $request) or die "flags of $link: $!\n"; # SIOCGIFFLAGS
	my $flags = unpack("x16 s", $request);
	$request = pack("a16 x24", $link);
	my $address = ioctl($s, 0x8915, $request) ? inet_ntoa(substr $request, 20, 4) : "none"; # SIOCGIFADDR
	print "$link ", $flags & 1 ? "up" : "down", " $address\n";
}'
for options in "" "--net none" --userns "--userns --uid 0 --gid 0" "--level 2" "--unsafe --userns --level 1"; do
	# shellcheck disable=SC2086 # words
	run $options -- perl -e "$look"
	assert_status 0
	assert_eq "$stdout" "lo down none" "links with '$options'"
done
for options in "" --userns; do
	# shellcheck disable=SC2086 # words
	run $options --net loopback -- perl -e "$look"
	assert_eq "$status:$stdout" "0:lo up 127.0.0.1" "control: links with --net loopback $options"
done
