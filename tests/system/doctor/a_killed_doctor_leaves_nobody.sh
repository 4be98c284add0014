#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# menace doctor, killed while something does not answer: what it started ends with it

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/store.sh"

need_root
need_program unshare mount python3
with_own_mounts
mount -t tmpfs none "$(readlink -f /var/run)" || fail "no tmpfs"

# A container engine that takes a connection and says nothing; it ends with its standard input.
coproc ENGINE {
	exec python3 -c '
import socket, sys
listener = socket.socket(socket.AF_UNIX)
listener.bind("/var/run/docker.sock")
listener.listen()
open(sys.argv[1], "w").close()
connection = listener.accept()
open(sys.argv[2], "w").close()
sys.stdin.read()' "$tmp/listens" "$tmp/asked"
}
wait_until 20 test -e "$tmp/listens" || fail "the engine does not start"
env -u DOCKER_HOST "$MENACE" doctor --json >"$tmp/ignored" &
doctor=$!
wait_until 60 test -e "$tmp/asked" || fail "the engine is not asked"
probe=$(cat "/proc/$doctor/task/$doctor/children")
probe=${probe% }
[ "$probe" ] || fail "no probe goes on"
kill -KILL "$doctor"
wait "$doctor" 2>"$tmp/ignored"
gone()
{
	! grep -q . "/proc/$probe/cmdline" 2>"$tmp/ignored" # of a dead one nothing
}
wait_until 30 gone || fail "a probe goes on: $(tr '\0' ' ' <"/proc/$probe/cmdline")"
eval "exec ${ENGINE[1]}>&-"
