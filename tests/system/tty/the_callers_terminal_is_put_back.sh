#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# However the program ends, the caller's terminal has its modes back: after it
# made its own raw, was killed, or menace-run was told to end

. "${0%/*}/../../lib/system.sh"

need_root
need_file "$MENACE_HELPERS/on-a-terminal"
ON_A_TERMINAL_SECONDS=$(scaled 30)
export ON_A_TERMINAL_SECONDS
terminal=$MENACE_HELPERS/on-a-terminal

run_plain "$terminal" -- "$MENACE_RUN" -q --tty -- sh -c 'stty raw -echo; exit 1'
assert_eq "$stderr" "status 1; modes kept" "left raw inside"

run_plain "$terminal" -- "$MENACE_RUN" -q --tty -- sh -c 'stty raw -echo; kill -9 $$'
assert_eq "$stderr" "status 137; modes kept" "killed inside"

run_plain "$terminal" -- "$MENACE_RUN" -q --tty -t 0.3 -- sleep 1000
assert_eq "$stderr" "status 124; modes kept" "after its time"

run_plain "$terminal" -- "$MENACE_RUN" --tty -- no-such-program
assert_eq "$stderr" "status 127; modes kept" "not found"

for signal in 1 2 15; do
	run_plain "$terminal" expect=ready kill=$signal -- "$MENACE_RUN" -q --tty -- \
		sh -c 'echo ready; exec sleep 1000'
	assert_eq "$stderr" "status $((128 + signal)); modes kept" "after signal $signal"
done

# The typed line is shown once, by the program's terminal, not by the caller's as well.
run_plain "$terminal" expect=$'ready\r\n' send=$'typed\n' expect=got -- "$MENACE_RUN" -q --tty -- \
	sh -c 'echo ready; read -r x; echo "got $x"'
assert_eq "$(tr -d '\r' <"$tmp/stdout")" "ready
typed
got typed"
