#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Ctrl-C, Ctrl-D, Ctrl-Z and Ctrl-\ typed by the user act on the program inside,
# not on menace-run

. "${0%/*}/../../lib/system.sh"

need_root
need_file "$MENACE_HELPERS/on-a-terminal"
ON_A_TERMINAL_SECONDS=$(scaled 30)
export ON_A_TERMINAL_SECONDS
terminal=$MENACE_HELPERS/on-a-terminal

run_plain "$terminal" expect=ready send=$'\003' -- "$MENACE_RUN" -q --tty -- \
	sh -c 'echo ready; exec sleep 1000'
assert_eq "$stderr" "status 130; modes kept" "Ctrl-C"

run_plain "$terminal" expect=ready send=$'\003' expect=caught -- "$MENACE_RUN" -q --tty -- \
	bash -c 'trap "echo caught; exit 7" INT; echo ready; while :; do sleep 0.05; done'
assert_eq "$stderr" "status 7; modes kept" "Ctrl-C caught"

run_plain "$terminal" expect=ready send=$'one\n' expect=one send=$'\004' -- "$MENACE_RUN" -q --tty -- \
	sh -c 'echo ready; cat >/tmp/f; wc -l </tmp/f'
assert_match "$(tr -d '\r' <"$tmp/stdout")" $'\n1$' "lines before Ctrl-D"
assert_eq "$stderr" "status 0; modes kept" "Ctrl-D"

run_plain "$terminal" expect=ready send=$'\034' -- "$MENACE_RUN" -q --tty -- \
	sh -c 'echo ready; exec sleep 1000'
assert_eq "$stderr" "status 131; modes kept" "Ctrl-\\"
