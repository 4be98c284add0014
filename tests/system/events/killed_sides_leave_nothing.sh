#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# A killed follower leaves the run alone, a killed supervisor ends the follower, and no name,
# socket or process of either is left

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/store.sh"
. "$repo/tests/lib/telemetry.sh"
. "$repo/tests/lib/follow.sh"

need_telemetry
need_program python3
check_leaks

start_waiting one -- sh -c 'echo waiting; read -r x; /bin/true; exit 6'
for ((i = 0; i < 3; i++)); do
	follow "$id" "$tmp/followed"
	kill -KILL "$follower"
	wait "$follower" 2>/dev/null
	rm "$tmp/followed"
done
follow "$id" "$tmp/followed"
go one
end_of "$supervisor"
assert_status 6
end_of "$follower"
assert_status 0
assert_eq "$(gojq -s -c '[.[] | select(.type == "exec") | .detail.argv[0]]' "$tmp/followed")" '["sh","/bin/true"]' "programs"

# More than there is room for at a time are told so, and harm nobody.
start_waiting many -- sh -c 'echo waiting; read -r x; exit 0'
for ((i = 0; i < 8; i++)); do
	follow "$id" "$tmp/many.$i"
	followers+=("$follower")
done
menace events --follow "$id"
assert_ne "$status" 0 "exit status of the ninth"
go many
end_of "$supervisor"
assert_status 0
for follower in "${followers[@]}"; do
	end_of "$follower"
	assert_status 0
done

start_waiting two -- sh -c 'echo waiting; read -r x; exec sleep 1000'
follow "$id" "$tmp/followed"
kill -KILL "$supervisor"
wait "$supervisor" 2>/dev/null
end_of "$follower"
assert_status 1
assert_contains "$(cat "$tmp/followed.err")" "run $id: its supervisor was killed; what it had not told is lost"
run -q -- true # sweeps what the killed one left
assert_status 0

# Killed while it asks: the name goes with the next start, a living asker's stays.
python3 - /run/menace/leases <<-'END' || fail "cannot make sockets"
	import os, socket, sys
	os.chdir(sys.argv[1])
	dead = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
	dead.bind(".follow-00000000000000000000000000-1")
END
python3 -c 'import os, socket, sys
os.chdir("/run/menace/leases")
s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
s.bind(".follow-00000000000000000000000000-2")
s.listen()
print("ready", flush=True)
sys.stdin.read()
os.unlink(".follow-00000000000000000000000000-2")' <"$tmp/one.in" >"$tmp/asker" &
asker=$!
exec 9>"$tmp/one.in"
wait_until 30 grep -q ready "$tmp/asker" || fail "no asker"
run -q -- true
assert_status 0
assert_eq "$(list_askers "")" /run/menace/leases/.follow-00000000000000000000000000-2 "names after a start"
exec 9>&-
wait "$asker"
assert_eq "$(list_askers "")" "" "names of followers"
assert_eq "$("$loader" entries)" "" "groups still observed"
