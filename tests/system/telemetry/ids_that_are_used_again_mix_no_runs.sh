#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# An id of a control group that is used again, and a slot that is: no event and no count of one run is in another.  What
# a run left that was killed is put into the maps as the kernel would have it if a new group got the old one's id.  Ids
# are those of the v2 hierarchy, also on a hybrid host, where others have groups with the same numbers

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/telemetry.sh"
. "$repo/tests/lib/runs.sh"

need_telemetry
maps=$MENACE_HELPERS/bpf-maps
need_file "$maps"
set=$(list_sets)
mkdir "$tmp/shared"
chmod 777 "$tmp/shared"
root=$(cgroup_v2_root)
pids=()

end_runs()
{
	for pid in "${pids[@]}"; do
		kill "$pid" 2>/dev/null
		wait "$pid" 2>/dev/null
	done
}
at_exit end_runs

# start NAME: a run that begins at once, waits, and at `go NAME` makes 50 processes; $pid and its group's $id.
start()
{
	mkfifo -m 666 "$tmp/shared/go-$1"
	"$MENACE_RUN" -q -t "$(scaled 120)" -o "$tmp/$1.json" --ro "$helper:/processes" --rw "$tmp/shared:/shared" -- sh -c \
		': >/shared/ready-$0; read -r x </shared/go-$0; /processes execs 50 /bin/true; : >/shared/done-$0' "$1" &
	pid=$!
	pids+=("$pid")
	wait_until 30 [ -e "$tmp/shared/ready-$1" ] || fail "the program of $1 did not start"
	id=$(stat -c %i "$root$(sed -n 's/^0:://p' "/proc/$(pgrep -P "$pid" | head -n 1)/cgroup")")
}

go()
{
	echo >"$tmp/shared/go-$1"
}

# finish NAME PID: it ended well, and has exactly what it did.
finish()
{
	go "$1"
	wait "$2"
	assert_eq $? 0 "exit status of $1"
	result=$tmp/$1.json
	# The shell, the helper and what that starts; each process but init is one program.
	assert_eq "$(json .telemetry.counters.execs)" 52 "programs of $1"
	assert_eq "$(json '.telemetry.counters | .forks == .execs + 1 and .forks == .exits')" true "processes of $1"
	assert_eq "$(json '[.telemetry.events[] | select(.type == "exec" and .object == "/bin/true")] | length')" 50 "events of $1"
	assert_eq "$(json .telemetry.complete)" true "complete, $1"
}

# A dead run left its slot, 1, to a group whose id a living run in slot 0 has got: whoever takes the slot, and takes away
# what the dead one left, leaves the living one alone.
start living
assert_eq "$("$loader" entries)" "$id" "groups that are observed"
"$maps" put "$set/owners" 1 4 "$id" || fail "note an owner"
living=$pid
start next
assert_eq "$("$loader" entries | wc -l)" 2 "groups that are observed"
finish next "$pid"
finish living "$living"
assert_eq "$("$loader" entries)" "" "groups still observed"

# An entry that a dead run left is for a slot that another has by now, with a generation that is no more: nothing that
# happens in that group is the other's.
other=$root/menace-test-$$
mkdir "$other" || fail "make a group"
at_exit rmdir "$other"
start in-slot-0
stale=$(stat -c %i "$other")
# Generation, all of the rows, slot 0 and no flags.
"$maps" put "$set/runs" "$stale" 8 12345 $((~(1 << 63))) 0 || fail "observe a group"
sh -c 'echo $$ >"$1/cgroup.procs" && exec "$2" execs 50 /bin/true' sh "$other" "$helper" || fail "the other group: $?"
finish in-slot-0 "$pid"

# The next start takes such an entry away.
assert_eq "$("$loader" entries)" "$stale" "what is left"
run -q -- true
assert_status 0
assert_processes 2 1

# What a killed one left unread in the rings of its slot is not told of the next that has it.
start killed
kill -STOP "$pid"
go killed
wait_until 30 [ -e "$tmp/shared/done-killed" ] || fail "the program did not end"
kill -KILL "$pid"
wait "$pid" 2>/dev/null
run_inside -- execs 3 /bin/true
assert_status 0
assert_processes 5 4
assert_eq "$(json '[.telemetry.events[] | select(.type == "exec")] | length')" 4 "programs that are told"
