#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# A write to 0xdead: signal, code, address and at least one frame.  Of many crashes those that find no room
# are counted, and they take none from the ends of init and of the main program

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/telemetry.sh"

need_telemetry
run_inside -- segv
assert_reason signaled
assert_eq "$(json .telemetry.counters.crashes)" 1 crashes
assert_eq "$(json 'crashes[0] | [.name, .si_code, .address, .comm] | tostring')" \
	'["SEGV",1,"0xdead","processes"]'
assert_ge "$(json 'crashes[0].frames | length')" 1 frames
assert_books

# Many with deep stacks: whoever reads is woken before there is no room, and gets a processor in time or not.
lost()
{
	json '[.telemetry.losses[] | select(.type == "crash" and .reason == "ring full") | .count] | add // 0'
}

# assert_crashes N: all of them are told or counted, and all that are told have their stack.
assert_crashes()
{
	assert_eq "$(json .telemetry.counters.crashes)" "$1" crashes
	assert_eq $(($(json 'crashes | length') + $(lost))) "$1" "crashes that are told or counted as lost"
	assert_eq "$(json '[crashes[] | select(.name == "SEGV").frames | length] | min')" 32 frames
	assert_books
}

run_inside -- crashes 300
assert_status 0
assert_crashes 300
[ "$(lost)" -gt 0 ] || assert_eq "$(json .telemetry.complete)" true complete

# Nobody reads at all, until the main program has ended.  The crashes in memory of no file are larger by a module: with
# nine of them crashes alone would leave 16 bytes of the ring.
mkdir "$tmp/shared"
chmod 777 "$tmp/shared"
mkfifo -m 666 "$tmp/shared/go"
rm -f "$result"
"$MENACE_RUN" -q -t 300 -o "$result" --ro "$helper:/processes" --rw "$tmp/shared:/shared" -- sh -c \
	': >/shared/ready; read -r x </shared/go
	for i in 1 2 3 4 5 6 7 8 9; do /processes made-code; done
	exec /processes crashes 300' 2>"$tmp/stderr" &
pid=$!
wait_until 30 [ -e "$tmp/shared/ready" ] || fail "the program did not start"
program_has_ended()
{
	! pgrep -P "$init" >/dev/null
}
init=$(pgrep -P "$pid")
kill -STOP "$pid"
echo >"$tmp/shared/go"
wait_until 60 program_has_ended || { kill -CONT "$pid"; fail "the crashes did not end"; }
kill -CONT "$pid"
wait "$pid"
assert_eq $? 0 "exit status"
assert_crashes 309
assert_ge "$(lost)" 1 "crashes that nobody had room for"
assert_ge "$(json 'crashes | length')" 50 "crashes that there was room for"
assert_eq "$(json .telemetry.complete)" false complete
assert_eq "$(json '[.telemetry.processes[] | select(.inner_pid <= 2) | .exit_boot_ns != null] | tostring')" \
	"[true,true]" "ends that are known"

# A signal that is sent is no address, and one that is handled no crash.
run -q -- sh -c 'kill -SEGV $$'
assert_eq "$(json 'crashes[0] | [.si_code, .address] | tostring')" '[0,"0x0"]'
run -q -- sh -c 'trap : ABRT; kill -ABRT $$; exit 0'
assert_status 0
assert_eq "$(json .telemetry.counters.crashes)" 0 crashes
