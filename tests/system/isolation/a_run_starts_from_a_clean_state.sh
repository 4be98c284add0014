#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Nothing that the caller left set reaches the payload: signals, masks, limits, umask,
# niceness apart, session, keyrings
# security

. "${0%/*}/../../lib/system.sh"

need_system_program perl
cat >"$tmp/state.pl" <<'PERL'
my %s = map { /^(\w+):\s*(.*)/ ? ($1 => $2) : () } `cat /proc/$$/status`;
$s{SigIgn} =~ s/80$/00/; # perl itself ignores SIGFPE
print "$_ $s{$_}\n" for qw(SigIgn SigBlk SigPnd ShdPnd Seccomp NoNewPrivs TracerPid);
printf "umask %04o\n", umask;
printf "session %d group %d\n", syscall(124, 0) == $$ || 0, getpgrp() == $$ || 0;
PERL
dirty='trap "" INT QUIT TERM HUP USR1 PIPE CHLD; umask 0; ulimit -S -n 50; ulimit -c unlimited; ulimit -S -f 1000000; exec "$@"'
expected='SigIgn 0000000000000000
SigBlk 0000000000000000
SigPnd 0000000000000000
ShdPnd 0000000000000000
Seccomp 2
NoNewPrivs 1
TracerPid 0
umask 0022
session 1 group 1'
for options in "" --userns --tty; do
	# shellcheck disable=SC2086 # words
	run_plain sh -c "$dirty" sh "$MENACE_RUN" -q $options --lang perl -- "$tmp/state.pl"
	assert_eq "${stdout//$'\r'/}" "$expected" "state with '$options'"
done
run_plain sh -c "$dirty" sh "$MENACE_RUN" -q -- sh -c 'ulimit -n; ulimit -c; ulimit -f; head -c 100000 /dev/zero >/tmp/x; wc -c </tmp/x'
assert_eq "$(tr '\n' ' ' <<<"$stdout")" "1024 0 unlimited 100000 " "limits of the caller"

# With descriptors 0 to 2 closed nothing of ours takes their place.
for closed in '<&-' '>&-' '2>&-' '<&- >&- 2>&-'; do
	eval "\"\$MENACE_RUN\" -q -o \"\$result\" -- sh -c 'cat; echo out; echo err >&2' $closed" >"$tmp/closed-out" 2>"$tmp/closed-err"
	assert_eq "$?" 0 "status with $closed"
	assert_reason exited
done
