# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# What the kernel at hand can do for a workspace

# An overlay in a user namespace marks a folder that hides the one below by a user.* attribute,
# which tmpfs has since Linux 6.6.  Needs root.
userns_marks_folders()
{
	# shellcheck disable=SC2154 # tmp: system.sh
	mkdir -p "$tmp/attributes"
	unshare -m sh -c 'mount -t tmpfs menace-test "$1" &&
		python3 -c "import os, sys; os.setxattr(sys.argv[1], b\"user.x\", b\"y\")" "$1"' \
		sh "$tmp/attributes" 2>/dev/null
}
