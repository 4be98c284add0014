#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# A socket such as docker's is root on the host: it is not there, and is not let in as
# if it were a file
# security

. "${0%/*}/../../lib/system.sh"

need_program perl
need_system_program perl
mkdir "$tmp/run"
chmod 755 "$tmp/run"
cat >"$tmp/listen.pl" <<'PERL'
use IO::Socket::UNIX;
my $path = $ARGV[0] =~ s/^@/\0/r;
my $s = IO::Socket::UNIX->new(Local => $path, Listen => 4) or die "listen: $!";
chmod 0777, $path if $path !~ /^\0/;
$| = 1;
print "ready\n";
while (my $c = $s->accept) { print $c "root\n"; close $c }
PERL
cat >"$tmp/connect.pl" <<'PERL'
use IO::Socket::UNIX;
for my $path (@ARGV) {
	$path =~ s/^@/\0/;
	my $s = IO::Socket::UNIX->new(Peer => $path);
	print $s ? "connected " . <$s> : "refused $!\n";
}
PERL
perl "$tmp/listen.pl" "$tmp/run/docker.sock" >"$tmp/ready" &
at_exit kill $!
wait_until 20 grep -q ready "$tmp/ready" || fail "no listener"
abstract="menace-test-$$"
perl "$tmp/listen.pl" "@$abstract" >"$tmp/ready2" &
at_exit kill $!
wait_until 20 grep -q ready "$tmp/ready2" || fail "no abstract listener"

run_plain perl "$tmp/connect.pl" "$tmp/run/docker.sock" "@$abstract"
assert_eq "$stdout" $'connected root\nconnected root' "control"
for options in "" --userns "--level 2" "--net loopback" "--net allowlist"; do
	# shellcheck disable=SC2086 # words
	run $options --lang perl -- "$tmp/connect.pl" "$tmp/run/docker.sock" "/proc/1/root$tmp/run/docker.sock" "@$abstract"
	assert_eq "$stdout" $'refused No such file or directory\nrefused No such file or directory\nrefused Connection refused' \
		"answers with '$options'"
done
for option in --ro --rw; do
	run $option "$tmp/run/docker.sock:/run/docker.sock" -- true
	assert_refused "$tmp/run/docker.sock" "neither a regular file nor a directory"
done
