#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Perl: fork, pipes, sockets, files, sorting by a child
#

. "${0%/*}/../../lib/system.sh"

need_root
need_system_program perl

cat >"$tmp/a.pl" <<'END'
use strict; use warnings; use Socket; use File::Temp; use POSIX ":sys_wait_h";
my $pid = open(my $pipe, "-|") // die; 
if (!$pid) { print "child\n"; exit 5 }
print "pipe ", <$pipe>; close $pipe; print "status ", $? >> 8, "\n";
socketpair(my $a, my $b, AF_UNIX, SOCK_STREAM, PF_UNSPEC) or die; syswrite $a, "x"; sysread $b, my $got, 1;
print "socket $got\n";
my $f = File::Temp->new; print $f "text"; close $f; print "temp ", -s "$f", "\n";
print "sort ", `printf 'b\\na\\n' | sort | tr '\\n' ' '`, "\n";
local $SIG{ALRM} = sub { print "alarm\n" }; alarm 1; select undef, undef, undef, 3;
END
run "$tmp/a.pl"
assert_status 0
assert_eq "$stdout" "pipe child
status 5
socket x
temp 4
sort a b 
alarm"
assert_eq "$(json .denials.total)" 0 "denials"
