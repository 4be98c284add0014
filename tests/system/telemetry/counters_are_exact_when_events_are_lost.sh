#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# 5,000 short processes while nobody reads: the counters are exact, and what was
# delivered and what was lost make up what there was

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/telemetry.sh"

need_telemetry
n=5000
mkdir "$tmp/shared"
chmod 777 "$tmp/shared"
mkfifo -m 666 "$tmp/shared/go"
rm -f "$result"
# Not by standard input: that is fed by the supervisor, which is stopped.
"$MENACE_RUN" -q -t 300 -o "$result" --ro "$helper:/processes" --rw "$tmp/shared:/shared" -- sh -c \
	': >/shared/ready; read -r x </shared/go; /processes forks "$1"; : >/shared/done' sh "$n" &
pid=$!
wait_until 30 [ -e "$tmp/shared/ready" ] || fail "the program did not start"
kill -STOP "$pid"
echo >"$tmp/shared/go"
wait_until 200 [ -e "$tmp/shared/done" ] || { kill -CONT "$pid"; fail "the storm did not end"; }
kill -CONT "$pid"
wait "$pid"
assert_eq $? 0 "exit status"
# Init, sh, the helper.
assert_processes $((n + 3)) 2
assert_ge "$(json .telemetry.books.lost)" 1000 "lost events"
assert_ge "$(json '.telemetry.losses[] | select(.type == "fork" and .reason == "ring full") | .count')" 1 "forks that the ring had no room for"
assert_eq "$(json .telemetry.complete)" false complete
# The end of init and of the main program are never crowded out.
assert_eq "$(json '[.telemetry.processes[] | select(.inner_pid <= 2) | .exit_boot_ns != null] | tostring')" \
	"[true,true]" "ends that are known"
