#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# A payload that takes over every signal, detaches and stops its own group is ended in
# time all the same
# security

. "${0%/*}/../../lib/system.sh"

need_system_program perl
cat >"$tmp/hold.pl" <<'PERL'
use POSIX;
for my $sig (keys %SIG) { eval { $SIG{$sig} = sub { print "caught\n" } } }
$SIG{ALRM} = "IGNORE"; alarm 0;
my $all = POSIX::SigSet->new; $all->fillset; sigprocmask(SIG_SETMASK, $all);
for my $how (1 .. 3) {
	next if fork;
	setsid; fork and exit if $how > 1;
	if ($how == 3) { kill STOP => $$ }
	1 while 1;
}
kill STOP => getppid;
1 while sleep 100;
PERL
for options in "" --userns; do
	# shellcheck disable=SC2086 # words
	run $options -t 0.5 --lang perl -- "$tmp/hold.pl"
	assert_status 124
	assert_reason wall_timeout
	assert_le "$elapsed_ms" "$(scaled 15000)" "time until the end"
done
