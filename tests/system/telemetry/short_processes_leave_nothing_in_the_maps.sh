#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# 5,000 short processes leave no entries in any map of the programs: not while they come and go, and not after the run;
# MENACE_SHORT_PROCESSES sets their number

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/telemetry.sh"

need_telemetry
maps=$MENACE_HELPERS/bpf-maps
need_file "$maps"
pid=
n=${MENACE_SHORT_PROCESSES:-5000}
set=$(list_sets)

# assert_entries WHAT RUNS CALLS: the maps hold as many runs, no more calls and requests to devices than are being made,
# and nothing else of processes.  Where the kernel does not tell the last thread of a process the set remembers ends for a while, in a map
# that holds so many at most.
assert_entries()
{
	local now

	now=$("$maps" entries "$set") || fail "entries $1: $?"
	assert_eq "$(awk '$1 == "runs" { print $2 }' <<<"$now")" "$2" "observed groups $1"
	assert_eq "$(awk -v calls="$3" '$1 ~ /^(calls_begun|issues)$/ && $2 > calls' <<<"$now")" "" "calls that go on $1"
	assert_eq "$(awk '$1 == "ended_once" && $2 > 4096' <<<"$now")" "" "ends that are remembered $1"
	assert_eq "$(awk '$1 !~ /^(runs|calls_begun|issues|ended_once)$/ && $2 != 0' <<<"$now")" "" "entries $1"
}

# storm LEVEL N
storm()
{
	rm -f "$tmp/shared/done" "$result"
	"$MENACE_RUN" -q -t "$(scaled 120)" --telemetry "$1" -o "$result" --ro "$helper:/processes" \
		--rw "$tmp/shared:/shared" -- sh -c \
		'/processes vforks "$1"; : >/shared/done; read -r x </shared/go' sh "$2" &
	pid=$!
	wait_until 30 is_observed || fail "the run is not observed"
	until [ -e "$tmp/shared/done" ]; do
		assert_entries "during level $1" 1 8
		kill -0 "$pid" 2>/dev/null || fail "the run ended"
	done
	assert_entries "after the last of them at level $1" 1 8
	echo >"$tmp/shared/go"
	wait "$pid"
	assert_eq $? 0 "exit status"
	assert_ge "$(json .telemetry.counters.forks)" $(($2 + 3)) "processes made"
	assert_eq "$(json '.telemetry.counters | .forks == .exits')" true "as many ends"
	assert_books
	assert_entries "after the run at level $1" 0 0
}

end_storm()
{
	kill "$pid" 2>/dev/null
	wait "$pid" 2>/dev/null
}

is_observed()
{
	[ -n "$("$loader" entries)" ]
}

mkdir "$tmp/shared"
chmod 777 "$tmp/shared"
mkfifo -m 666 "$tmp/shared/go"
# Should something fail, the run does not wait for its time-out.
at_exit end_storm
assert_entries "before" 0 0
storm default "$n"
storm syscalls $((n / 10))
echo "maps: $("$maps" entries "$set" | tr '\n' ';')"
