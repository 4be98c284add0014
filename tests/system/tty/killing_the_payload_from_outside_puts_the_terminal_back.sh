#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# SIGKILL of the payload or of init by somebody else ends the run with the
# caller's terminal as it was

. "${0%/*}/../../lib/system.sh"

need_root
need_file "$MENACE_HELPERS/on-a-terminal"
ON_A_TERMINAL_SECONDS=$(scaled 30)
export ON_A_TERMINAL_SECONDS
terminal=$MENACE_HELPERS/on-a-terminal

# kill_below: waits for menace-run under the helper $1 and kills its descendant of depth $2.
kill_below()
{
	local pid=$1 depth=$2 next

	while [ "$depth" -gt 0 ]; do
		next=$(cut -d' ' -f1 "/proc/$pid/task/$pid/children" 2>/dev/null)
		[ -z "$next" ] || { pid=$next; depth=$((depth - 1)); }
	done
	kill -KILL "$pid"
}

# The helper is 0, menace-run 1, init 2, the payload 3.  The end of init is none of the program's: the run is lost.
status_of=([2]=125 [3]=137)
for depth in 3 2; do
	"$terminal" expect=ready -- "$MENACE_RUN" -q --tty -- \
		sh -c 'echo ready; exec sleep 1000' >"$tmp/shown.$depth" 2>"$tmp/said.$depth" &
	helper=$!
	ready()
	{
		[ -f "$tmp/shown.$depth" ] && grep -q ready "$tmp/shown.$depth"
	}
	wait_until 30 ready || fail "it did not start"
	kill_below $helper $depth
	wait $helper
	assert_eq "$(cat "$tmp/said.$depth")" "status ${status_of[depth]}; modes kept" "depth $depth"
done
