#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# A connection that an io_uring makes is told as any other.  No level lets a program inside have
# a ring, so one from outside joins the group of the run; from inside the attempt is denied, and
# a denial

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/store.sh"
. "$repo/tests/lib/telemetry.sh"
. "$repo/tests/lib/follow.sh"

need_telemetry
ring=$MENACE_HELPERS/connect-by-ring
need_file "$ring"
start_waiting one --net loopback -- sh -c 'echo waiting; read -r x'
group=$("$loader" entries)
assert_match "$group" '^[0-9]+$' "the observed group"
folder=$(find "$(findmnt -n -t cgroup2 -o TARGET | head -n 1)" -type d -inum "$group")
run_plain "$ring" "$folder" 9
[ "$status" != 3 ] || skip "no io_uring: $stdout"
assert_status 0
assert_eq "$stdout" -111 "what the ring said (ECONNREFUSED)"
go one
end_of "$supervisor"
assert_status 0
result=$tmp/one.json
assert_eq "$(json '[.telemetry.events[] | select(.type == "connect") | [.comm, .object]] | tostring')" \
	'[["connect-by-ring","127.0.0.1:9"]]' "connections"
assert_eq "$(json .telemetry.counters.connects)" 1 connects
assert_books

run --net loopback --ro "$ring:/ring" -- /ring /sys 9
assert_status 3
assert_eq "$stdout" "io_uring_setup: Operation not permitted" "inside"
assert_eq "$(json '[.denials.rows[] | [.what, .errno.name]] | tostring')" '[["io_uring_setup","EPERM"]]' denials
