#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# isolate before 2.6: boxes shared /dev/shm, and talked by keyrings, vsock and flock() on files
# that both may read.  Two runs at once look for each other's signs in every channel that needs
# no common writable file
# security

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/meet.sh"

need_meet
need_program unshare

# Without a sandbox, two processes of one user find all of them (vsock needs a module).
cat >"$tmp/control" <<'SH'
cd /dev/shm || exit 9
coproc put { ./meet put ./meet; }
while read -r line <&"${put[0]}" && [ "$line" != ready ]; do :; done
./meet get ./meet
SH
run_plain unshare -i -n -m bash -c '
	mount -t tmpfs t /dev/shm && cp "$1/meet" "$1/control" /dev/shm/ && mount -t tmpfs t /tmp &&
		exec setpriv --reuid=65534 --regid=65534 --clear-groups bash /dev/shm/control' bash "$tmp"
for channel in shm tmp sysv-shm sysv-queue posix-queue abstract key flock record-lock shown-lock; do
	assert_contains "$stdout" "$channel found" "control"
done

check()
{
	local line

	coproc put { "$MENACE_RUN" -q "$@" --ro "$tmp/meet:/meet" -- /meet put /usr/bin/env; }
	while read -r line <&"${put[0]}" && [ "$line" != ready ]; do :; done
	assert_eq "$line" ready "the first box"
	run "$@" --ro "$tmp/meet:/meet" -- /meet get /usr/bin/env
	assert_status 0
	assert_eq "$(grep -c . "$tmp/stdout")" 11 "channels tried"
	assert_eq "$(grep ' found$' "$tmp/stdout")" "" "signs found with '$*'"
	# shellcheck disable=SC2154 # set by coproc
	eval "exec ${put[1]}>&-"
	wait "$put_PID" 2>/dev/null
}
check
check --userns
check --level 2
check --net loopback
