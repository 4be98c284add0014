#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# What the payload makes in a --rw folder is its owner's on the host: with a set-user-ID
# or set-group-ID bit it would give that owner's rights, here root's, to whoever starts it
# there. A file that is made with the bit is empty, but root keeps the bit when it writes
# into that file, and so does a shared mapping.
# security

. "${0%/*}/../../lib/system.sh"
. "${0%/*}/../../lib/policy.sh"

need_root
mkdir "$tmp/shared"
chown 0:0 "$tmp/shared"

# Each line of output is a call that made or changed such a mode, or failed for another reason.
payload='
	my ($at, $id, $dot) = (-100, "id", ".");
	my $how = pack "Q3", 0101, 04755, 0;
	my $made = 0;
	umask 0;
	chdir "/rw" or die;
	sub refused { my ($what, $done, $also) = @_;
		print "$what\n" if $done;
		print "$what: $!\n" unless $done || $!{EPERM} || ($also && $!{ENOSYS});
	}
	sub name { return "made" . ++$made }
	sub bits { my ($mode) = @_;
		my $name;
		refused("chmod", chmod($mode, "id"));
		open my $file, "<", "id" or die;
		refused("fchmod", chmod($mode, $file));
		refused("fchmodat", syscall(268, $at, $id, $mode) == 0);
		refused("fchmodat2", syscall(452, $at, $id, $mode, 0) == 0, 1);
		refused("open", syscall(2, $name = name, 0102, $mode) >= 0);
		refused("open O_TMPFILE", syscall(2, $dot, 020200002, $mode) >= 0);
		refused("openat", syscall(257, $at, $name = name, 0102, $mode) >= 0);
		refused("openat O_TMPFILE", syscall(257, $at, $dot, 020200002, $mode) >= 0);
		refused("creat", syscall(85, $name = name, $mode) >= 0);
		refused("mknod", syscall(133, $name = name, 0100000 | $mode, 0) == 0);
		refused("mknodat", syscall(259, $at, $name = name, 0100000 | $mode, 0) == 0);
		refused("openat2", syscall(437, $at, $name = name, $how, 24) >= 0, 1);
		# Of these the kernel takes no such bit.
		syscall(83, $name = name, $mode) == 0 or print "mkdir: $!\n";
		syscall(258, $at, $name = name, $mode) == 0 or print "mkdirat: $!\n";
	}
	system("cp", "/usr/bin/id", "id") == 0 or die;
	bits($_) for 04755, 04000, 06777, 02755, 02000;
	# What needs no such bit works, with whatever in the register of a mode that is not used.
	my ($plain, $odd) = ("plain", "odd");
	syscall(257, $at, $plain, 0102, 01666) >= 0 or print "plain open: $!\n";
	syscall(257, $at, $plain, 0, 06777) >= 0 or print "open without a mode: $!\n";
	syscall(259, $at, $odd, 0010644, 0) == 0 or print "fifo: $!\n";
	chmod(01755, "id") or print "sticky: $!\n";
	chmod(0755, "id") or print "plain: $!\n"'

for options in "" --userns "--level 2" "--level 1 --set sandbox.unsafe=true" "--level 5"; do
	program=(perl -e "$payload")
	# From level 4 on no program starts another one.
	[ "$options" = "--level 5" ] && cp /usr/bin/id "$tmp/shared/id" && program[2]=${payload/system(*== 0 or die;/}
	# shellcheck disable=SC2086 # words
	run $options --rw "$tmp/shared:/rw" -- "${program[@]}"
	assert_status 0
	assert_eq "$stdout" "" "what worked with '$options'"
	assert_eq "$(cd "$tmp/shared" && find . -type f | sort | tr '\n' ' ')" "./id ./plain " \
		"files on the host with '$options'"
	assert_eq "$(find "$tmp/shared" -perm /6000)" "" "set-ID files on the host with '$options'"
	rm -rf "$tmp/shared"/*
done

# While a policy is learned, and where one is in force, calls are shown to the supervisor before the
# level judges them.
learn --rw "$tmp/shared:/rw" -- perl -e "$payload"
assert_status 0
assert_eq "$stdout" "" "what worked while a policy was learned"
assert_eq "$(find "$tmp/shared" -perm /6000)" "" "set-ID files on the host, learned"
rm -rf "$tmp/shared"/*
enforced --rw "$tmp/shared:/rw" -- perl -e "$payload"
assert_status 0
assert_eq "$stdout" "" "what worked with a policy"
assert_eq "$(find "$tmp/shared" -perm /6000)" "" "set-ID files on the host with a policy"
