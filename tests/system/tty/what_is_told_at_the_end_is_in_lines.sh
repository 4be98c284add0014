#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# What menace-run itself says about a run with a terminal is written on the caller's terminal as
# he had it, not in the raw mode that the program's output needs

. "${0%/*}/../../lib/system.sh"

need_root
need_file "$MENACE_HELPERS/on-a-terminal"
ON_A_TERMINAL_SECONDS=$(scaled 30)
export ON_A_TERMINAL_SECONDS
terminal=$MENACE_HELPERS/on-a-terminal

# assert_lines TEXT N: it is there, in N lines or more, and each begins at the left.
assert_lines()
{
	assert_contains "$stderr" "modes kept"
	assert_contains "$(cat "$tmp/stdout")" "$1"
	assert_ge "$(grep -c $'\r$' "$tmp/stdout")" "$2" "lines"
	assert_eq "$(grep -vc $'\r$' "$tmp/stdout")" 0 "lines that end in a staircase"
}
run_plain "$terminal" -- "$MENACE_RUN" --tty --summary -- echo said
assert_lines "said" 5
assert_contains "$(cat "$tmp/stdout")" "exited"
run_plain "$terminal" -- "$MENACE_RUN" --tty -o FD:2 -- true
assert_lines '"menace.result/1"' 50
run_plain "$terminal" -- "$MENACE_RUN" --tty -t 0.3 -- sleep 1000
assert_lines "wall" 1
run_plain "$terminal" -- "$MENACE_RUN" --tty -- no-such-program
assert_lines "no-such-program" 1
