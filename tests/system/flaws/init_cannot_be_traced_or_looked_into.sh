#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# CVE-2016-9962: a process of the runtime in the sandbox that can be traced gives
# away what it holds of the host
# security

. "${0%/*}/../../lib/system.sh"

need_system_program perl
# sys_ptrace is 101, PTRACE_ATTACH 16, PTRACE_SEIZE 0x4206; pidfd_open 434, pidfd_getfd 438.
cat >"$tmp/attack.pl" <<'PERL'
use strict;
sub errno { my $r = shift; return $r == -1 ? $!{EPERM} ? "EPERM" : $!{ESRCH} ? "ESRCH" : $! : "OK" }
my $pid = $ARGV[0];
printf "attach %s\n", errno(syscall(101, 16, $pid, 0, 0));
printf "seize %s\n", errno(syscall(101, 0x4206, $pid, 0, 0));
for my $name ("fd", "root", "cwd", "exe", "mem", "environ", "maps", "ns/mnt", "fd/0", "task", "stack") {
	my $path = "/proc/$pid/$name";
	printf "%s %s\n", $name, -e $path || -l $path || opendir(my $d, $path) ? "there" : "absent";
}
printf "kill %s\n", errno(kill(9, $pid) ? 0 : -1);
PERL

# It is noticed when it works: on a process of one's own.
tail -f /dev/null &
run_plain perl "$tmp/attack.pl" $!
assert_eq "$(grep -c ' there$' "$tmp/stdout")" 11 "control: what is there"
assert_contains "$stdout" "kill OK" "control"
wait 2>/dev/null

check()
{
	run "$@" --lang perl -- "$tmp/attack.pl" 1
	assert_contains "$stdout" $'attach EPERM\nseize EPERM\n' "trace of init"
	assert_not_contains "$stdout" " there" "what is known of init"
	assert_eq "$status $(json .reason)" "0 exited" "end with $*"
	run "$@" -- sh -c 'ls -d /proc/[0-9]*'
	assert_no_match "$stdout" '/proc/1($|[^0-9])' "processes shown"
}
check
check --userns
check --level 2
check --userns --uid 0
