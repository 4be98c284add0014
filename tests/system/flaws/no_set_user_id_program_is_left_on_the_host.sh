#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# What the payload makes in a --rw folder is its owner's on the host: with a set-user-ID
# bit it would give that owner's rights, here root's, to whoever starts it there
# security

. "${0%/*}/../../lib/system.sh"

need_root
mkdir "$tmp/shared"
chown 0:0 "$tmp/shared"

for options in "" --userns "--level 2" "--level 1 --set sandbox.unsafe=true"; do
	# shellcheck disable=SC2086 # words
	run $options --rw "$tmp/shared:/rw" -- perl -e '
		my ($fchmodat2, $at, $id) = (452, -100, "id");
		chdir "/rw" or die;
		sub bits { my ($mode) = @_;
			print chmod($mode, "id") ? "chmod" : $!{EPERM} ? "" : "chmod: $!";
			open my $file, "<", "id" or die;
			print chmod($mode, $file) ? "fchmod" : $!{EPERM} ? "" : "fchmod: $!";
			print syscall(268, $at, $id, $mode) == 0 ? "fchmodat" : $!{EPERM} ? "" : "fchmodat: $!";
			print syscall($fchmodat2, $at, $id, $mode, 0) == 0 ? "fchmodat2" :
				$!{EPERM} || $!{ENOSYS} ? "" : "fchmodat2: $!";
		}
		system("cp", "/usr/bin/id", "id") == 0 or die;
		bits($_) for 04755, 04000, 06755;
		# Made with the bit: it goes when there is something to run.
		syscall(2, my $name = "made", 0101, 04755) >= 0 or die;
		open my $made, ">>", $name or die;
		print $made "#!/bin/sh\n";
		close $made;
		chmod(03755, "id") or print "others: $!";
		chmod(0755, "id") or print "plain: $!"'
	assert_status 0
	assert_eq "$stdout" "" "what worked with '$options'"
	assert_eq "$(find "$tmp/shared" -type f | wc -l)" 2 "files on the host with '$options'"
	assert_eq "$(find "$tmp/shared" -perm /4000)" "" "set-user-ID files on the host with '$options'"
	rm -rf "$tmp/shared"/*
done
