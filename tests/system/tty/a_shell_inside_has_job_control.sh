#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# An interactive shell stops, lists, continues and ends its jobs

. "${0%/*}/../../lib/system.sh"

need_root
need_file "$MENACE_HELPERS/on-a-terminal"
ON_A_TERMINAL_SECONDS=$(scaled 30)
export ON_A_TERMINAL_SECONDS
terminal=$MENACE_HELPERS/on-a-terminal

# The time limit is of all steps, each of which may take as long as ON_A_TERMINAL_SECONDS.
# It says when it may be typed at: each signal goes to whoever has the terminal then.  It says so
# behind its trap: a signal that comes while its trap runs, bash forgets.
job='trap again=1 CONT; trap "exit 0" INT; echo started-$((1 + 1))
	while :; do [ -z "${again-}" ] || { again=; echo going-on-$((1 + 1)); }; sleep 0.05; done'
job=${job//$'\n\t'/; }
run_plain "$terminal" 'expect=> ' "send=bash -c '$job'"$'\n' expect=started-2 \
	send=$'\032' expect=Stopped 'expect=> ' send=$'jobs\n' expect=Stopped 'expect=> ' \
	send=$'bg\n' expect=going-on-2 send=$'jobs\n' expect=Running \
	send=$'kill -STOP %1; wait %1; echo stopped-$((1 + 1))\n' expect=stopped-2 \
	send=$'fg\n' expect=going-on-2 send=$'\003' 'expect=> ' \
	send=$'(echo behind-$((1 + 1))) & wait\n' expect=behind-2 'expect=> ' send=$'exit 3\n' -- \
	"$MENACE_RUN" -q -o "$result" -t "$(scaled 120)" --tty -e 'PS1=> ' -- bash --norc --noprofile --noediting -i
assert_not_contains "$(cat "$tmp/stdout")" "no job control" "the shell's words"
assert_eq "$stderr" "status 3; modes kept"
assert_reason exited
assert_eq "$(json .denials.total)" 0 "denials"
