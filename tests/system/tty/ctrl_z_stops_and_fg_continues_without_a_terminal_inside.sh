#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Without --tty a stop signal stops the payload and menace-run; SIGCONT goes on
# with both, and the time between does not count

. "$(dirname "$0")/../../lib/system.sh"

need_root
need_file "$MENACE_HELPERS/on-a-terminal"
ON_A_TERMINAL_SECONDS=$(scaled 10)
export ON_A_TERMINAL_SECONDS
terminal=$MENACE_HELPERS/on-a-terminal

run_plain "$terminal" expect=ready kill=20 stopped kill=18 expect=done -- \
	"$MENACE_RUN" -q -- sh -c 'echo ready; sleep 0.5; echo done; exit 6'
assert_eq "$stderr" "stopped
status 6; modes kept"

run_plain bash -c '
	"$0" -q -t "$1ms" -- sh -c "sleep 0.3; echo over" &
	pid=$!
	sleep 0.1
	kill -TSTP $pid
	sleep "$2"
	kill -CONT $pid
	wait $pid' "$MENACE_RUN" "$(scaled 1000)" "$(scaled 1).5"
assert_eq "$status:$stdout" 0:over "the time it was stopped does not count"
