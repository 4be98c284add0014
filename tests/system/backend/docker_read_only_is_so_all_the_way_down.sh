#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# What is mounted below a folder that --ro shows, or below one of the system's, is not writable in a container: an
# engine that cannot see to that is not asked to run it
#
# lane: engine

. "${0%/*}/../../lib/system.sh"
. "${0%/*}/../../lib/docker.sh"

need_engine
need_program jq python3 unshare nsenter
with_own_mounts
shown=$tmp/shown
mkdir -p "$shown/with space" "$shown/free" "$tmp/api-44-52"
chmod -R 755 "$tmp" "$shown"
mount -t tmpfs -o mode=1777 none "$shown/with space" || skip "no tmpfs can be mounted"
at_exit umount -l "$shown/with space"
start_engine

# try WORDS...: to write into what is mounted there.
try()
{
	run "$@" --ro "$shown:/shown" -- sh -c 'touch "/shown/with space/new" && echo written'
}

# remount HOW: what is mounted there, for us and for the engine.
remount()
{
	mount -o "remount,bind,$1" "$shown/with space" &&
		nsenter --mount --target "$engine_pid" mount -o "remount,bind,$1" "$shown/with space" || fail "remount: $?"
}

# refuses PLACE FOLDER
refuses()
{
	assert_status 125
	assert_reason setup_error
	assert_eq "$(json .error.code)" kernel
	assert_eq "$(json .error.message)" "$1 would be shown writable: it is mounted below $2, of which this engine makes \
only the top read-only; unmount it, show another folder, or have Docker 25 or newer on Linux 5.12 or newer"
	assert_eq "$(engine_containers)" 0 "containers"
}

try --backend native
assert_status 1
assert_contains "$stderr" 'Read-only file system'
try --backend docker
refuses "$shown/with space" "$shown"
assert_absent "$shown/with space/new"

# By another name it is the same folder.
ln -s "$shown" "$tmp/link"
run --backend docker --ro "$tmp/link/.:/shown" -- true
refuses "$shown/with space" "$shown"

# One that is read-only by itself, or is on the top, does no harm; nor does what is shown writable.
remount ro
try --backend docker
assert_status 1
assert_contains "$stderr" 'Read-only file system'
remount rw
run --backend docker --ro "$shown/with space:/shown" -- touch /shown/new
assert_status 1
assert_contains "$stderr" 'Read-only file system'
run --backend docker --rw "$shown:/shown" -- touch '/shown/with space/new'
assert_status 0

# A newer engine is told to make all of it read-only, or to refuse.
python3 "$repo/tests/lib/fake-dockerd.py" "$tmp" api-44-52 &
at_exit kill $!
wait_until 30 test -S "$tmp/api-44-52/sock" || fail "the engine does not start"
export DOCKER_HOST=unix://$tmp/api-44-52/sock
run --backend docker --ro "$shown:/shown" --rw "$tmp:/else" -- true
assert_status 7
! grep unexpected "$tmp/api-44-52/log" || fail "see above"
