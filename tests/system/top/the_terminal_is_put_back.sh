#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# menace top on a terminal: keys sort and quit, the size is kept to, names are cut and do not
# act, and the terminal has its modes and its screen back on every way out
#

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/store.sh"
. "$repo/tests/lib/telemetry.sh"
. "$repo/tests/lib/follow.sh"

need_telemetry
need_file "$MENACE_HELPERS/on-a-terminal"
ON_A_TERMINAL_SECONDS=$(scaled 20)
export ON_A_TERMINAL_SECONDS TERM=xterm
terminal=$MENACE_HELPERS/on-a-terminal
give=$'\e[?25h\e[?1049l'

name=$'long\e[2J-name-that-goes-on-and-on-and-on'
start_waiting "$name" -- sh -c 'echo waiting; read -r x; exit 0'

run_plain "$terminal" "expect=running; sort" "expect=$id" send=m send=t send=p send=c 'send= ' "expect=$id" send=q -- \
	"$MENACE" top --interval 200ms
assert_eq "$stderr" "status 0; modes kept" "after q"
[[ $stdout == $'\e[?1049h\e[?25l'* ]] || fail "the screen is not taken"
[[ $stdout == *"$give" ]] || fail "the screen is not given back"
assert_not_contains "$stdout" $'\e[2J' "a name"
! grep -q -P '\x1b(?!\[(H|K|J|1m|0m|\?25[hl]|\?1049[hl]))' "$tmp/stdout" || fail "an escape of somebody else's"

for signal in 1 2 3 15; do
	run_plain "$terminal" "expect=running; sort" kill=$signal -- "$MENACE" top
	assert_eq "$stderr" "status $((128 + signal)); modes kept" "after signal $signal"
	[[ $stdout == *"$give" ]] || fail "signal $signal: the screen is not given back"
done
# Ctrl-C and Ctrl-\ of the keyboard are such signals.
run_plain "$terminal" "expect=running; sort" send=$'\x03' -- "$MENACE" top
assert_eq "$stderr" "status 130; modes kept" "after Ctrl-C"

# Stopped and continued it draws again.
run_plain "$terminal" "expect=running; sort" kill=20 stopped kill=18 $'expect=\e[?1049h' "expect=running; sort" send=q -- \
	"$MENACE" top
assert_eq "$stderr" "stopped
status 0; modes kept" "after Ctrl-Z"

# No line is wider than the terminal and there are no more than it has.
run_plain "$terminal" size=8x44 "expect=running; sort" send=q -- "$MENACE" top
assert_eq "$stderr" "status 0; modes kept"
run_plain "$terminal" "expect=running; sort" "expect=$id" size=9x20 $'expect=\e[H' $'expect=\e[J' $'expect=\e[H' $'expect=\e[J' send=q -- \
	"$MENACE" top --interval 200ms
assert_eq "$stderr" "status 0; modes kept" "after a change of size"
python3 - "$tmp/stdout" <<-'END' || fail "a line is too wide"
	import re, sys
	last = open(sys.argv[1], "rb").read().decode().split("\x1b[H")[-1]
	lines = re.sub(r"\x1b\[[0-9?]*[A-Za-z]", "", last).replace("\r", "").split("\n")
	assert 2 <= len(lines) <= 9, lines
	assert max(map(len, lines)) <= 20, lines
	assert any(line.startswith("RUN") for line in lines), lines
END

# Where it cannot be drawn it is printed once.
run_plain env TERM=dumb "$terminal" -- "$MENACE" top
assert_eq "$stderr" "status 0; modes kept" "dumb terminal"
assert_not_contains "$stdout" $'\e'
run_plain "$terminal" -- "$MENACE" top --once
assert_not_contains "$stdout" $'\e[?1049h'
run_plain env NO_COLOR=1 "$terminal" "expect=running; sort" "expect=$id" send=q -- "$MENACE" top
assert_eq "$stderr" "status 0; modes kept" "without colours"
assert_not_contains "$stdout" $'\e[1m'
go "$name"
end_of "$supervisor"
assert_eq "$status" 0 "the run"
