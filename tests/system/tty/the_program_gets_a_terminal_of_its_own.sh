#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# With --tty all three streams are a terminal that is not the caller's, and it
# controls the program's session

. "${0%/*}/../../lib/system.sh"

need_root
need_file "$MENACE_HELPERS/on-a-terminal"
ON_A_TERMINAL_SECONDS=$(scaled 30)
export ON_A_TERMINAL_SECONDS
terminal=$MENACE_HELPERS/on-a-terminal

[ -c /dev/ptmx ] || skip "no terminals"
run_plain "$terminal" -- "$MENACE_RUN" --tty -- sh -c '
	tty; test -t 0 && test -t 1 && test -t 2 && echo three
	echo to-stderr >&2
	echo ctty >/dev/tty
	ls /dev/pts | tr "\n" " "; exit 5'
assert_eq "$(tr -d '\r' <"$tmp/stdout")" "/dev/pts/0
three
to-stderr
ctty
0 ptmx "
assert_eq "$stderr" "status 5; modes kept"

# Without --tty there is none, even where the caller has one.
run_plain "$terminal" -- "$MENACE_RUN" -- sh -c 'tty; test -t 1 || echo none; (: >/dev/tty) 2>/dev/null || echo no ctty'
assert_eq "$(tr -d '\r' <"$tmp/stdout")" "not a tty
none
no ctty"
assert_eq "$stderr" "status 0; modes kept"

# And where the caller has none, --tty makes one all the same.
run --tty -- tty
assert_eq "$(tr -d '\r\n' <"$tmp/stdout")" /dev/pts/0
