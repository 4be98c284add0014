#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Every folder that can be written is of the one file system that is limited
# security

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/limits.sh"

need_limits

run --disk 1M --tmpfs /scratch -- bash -c '
	find / -xdev -type d -writable; find /dev /run /etc -type d -writable 2>/dev/null
	find /usr -maxdepth 2 -type d -writable
	stat -c "%d %n" /work /tmp /dev/shm /scratch >&2'
assert_status 0
places=$(sort -u "$tmp/stdout" | tr '\n' ' ')
for place in $places; do
	case $place in
	/dev/shm | /scratch | /tmp | /work) ;;
	*) fail "$place can be written" ;;
	esac
done
assert_eq "$(cut -d' ' -f1 "$tmp/stderr" | sort -u | wc -l)" 1 "file systems of the writable places"
