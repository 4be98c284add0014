#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# The size of the caller's terminal is the program's, at the start and when it
# changes

. "${0%/*}/../../lib/system.sh"

need_root
need_file "$MENACE_HELPERS/on-a-terminal"
ON_A_TERMINAL_SECONDS=$(scaled 30)
export ON_A_TERMINAL_SECONDS
terminal=$MENACE_HELPERS/on-a-terminal

run_plain "$terminal" expect=ready size=50x132 'expect=50 132' -- "$MENACE_RUN" --tty -- \
	bash -c 'stty size; trap "stty size; exit 0" WINCH; echo ready; while :; do sleep 0.05; done'
assert_match "$(tr -d '\r' <"$tmp/stdout" | tr '\n' ' ')" '^24 80 ready 50 132 '
assert_eq "$stderr" "status 0; modes kept"
