#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# A payload that takes over every signal, detaches and stops its own group is ended by its
# time-out all the same
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
$| = 1;
print "holding\n";
1 while sleep 100;
PERL
for options in "" --userns; do
	# A busy machine may keep it from coming that far.
	for limit in 0.5 4 16; do
		# shellcheck disable=SC2086 # words
		run $options -t $limit --lang perl -- "$tmp/hold.pl"
		[[ $stdout != *holding* ]] || break
	done
	assert_contains "$stdout" holding
	assert_status 124
	assert_reason wall_timeout
done
