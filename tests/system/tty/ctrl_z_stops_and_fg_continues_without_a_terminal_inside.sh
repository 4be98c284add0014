#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Without --tty a stop signal stops the payload and menace-run; SIGCONT goes on with both

. "${0%/*}/../../lib/system.sh"

need_root
need_file "$MENACE_HELPERS/on-a-terminal"
ON_A_TERMINAL_SECONDS=$(scaled 30)
export ON_A_TERMINAL_SECONDS
terminal=$MENACE_HELPERS/on-a-terminal

run_plain "$terminal" expect=ready kill=20 stopped kill=18 send=$'go\n' expect=done -- \
	"$MENACE_RUN" -q -- sh -c 'echo ready; read -r go; echo done; exit 6'
assert_eq "$stderr" "stopped
status 6; modes kept"
