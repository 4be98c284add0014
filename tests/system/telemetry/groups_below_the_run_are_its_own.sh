#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# A process in a group below that of a run belongs to the run, however deep; one in the group above it, or in one
# beside it, does not

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/telemetry.sh"
. "$repo/tests/lib/runs.sh"

need_telemetry
mkdir "$tmp/shared"
chmod 777 "$tmp/shared"
mkfifo -m 666 "$tmp/shared/go"
rm -f "$result"
"$MENACE_RUN" -q -t "$(scaled 120)" -o "$result" --rw "$tmp/shared:/shared" -- \
	sh -c ': >/shared/ready; read -r x </shared/go' &
pid=$!
end_run()
{
	kill "$pid" 2>/dev/null
	wait "$pid" 2>/dev/null
}
at_exit end_run
wait_until 30 [ -e "$tmp/shared/ready" ] || fail "the program did not start"

root=$(cgroup_v2_root)
group=$root$(sed -n 's/^0:://p' "/proc/$(pgrep -P "$pid" | head -n 1)/cgroup")
[[ $group == */menace/$(run_id_of "$pid") ]] || fail "the run is in $group"
above=${group%/*}
beside=$above/test-beside-$$
at_exit rmdir "$beside"
mkdir "$group/below" "$group/below/further" "$beside" || fail "make groups"

# forks_in GROUP N: one that goes there makes N processes.
forks_in()
{
	sh -c 'echo $$ >"$1/cgroup.procs" && exec "$2" forks "$3"' sh "$1" "$helper" "$2" 2>"$tmp/said"
}

forks_in "$group/below" 100 || fail "below: $(cat "$tmp/said")"
forks_in "$group/below/further" 20 || fail "further below: $(cat "$tmp/said")"
forks_in "$beside" 200 || fail "beside: $(cat "$tmp/said")"
# A group that hands controllers on has no processes of its own; whatever is beside the run has this one above it.
if [ -n "$(cat "$above/cgroup.subtree_control")" ]; then
	forks_in "$above" 1 && fail "a group with controllers took a process"
else
	forks_in "$above" 400 || fail "above: $(cat "$tmp/said")"
fi
rmdir "$group/below/further" "$group/below" || fail "the groups below are in use"

looks=$("$MENACE_HELPERS/bpf-maps" entries "$(list_sets)") || fail "entries"
assert_eq "$(awk '$1 == "runs" { print $2 }' <<<"$looks")" 1 "groups that are observed"
echo >"$tmp/shared/go"
wait "$pid"
assert_eq $? 0 "exit status"
# Init and the shell.
assert_eq "$(json .telemetry.counters.execs)" 3 "programs, with the two that came from outside"
assert_eq "$(json .telemetry.counters.forks)" $((2 + 100 + 20)) "processes made"
# Those that came from outside were not made here, but their programs began and ended here.
assert_eq "$(json .telemetry.counters.exits)" $((2 + 100 + 1 + 20 + 1)) "processes that ended"
assert_books
