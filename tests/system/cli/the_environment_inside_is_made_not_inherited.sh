#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# The program sees the variables that --env and --env-pass give it and a few of
# ours; never the caller's others
#
# security

. "${0%/*}/../../lib/system.sh"

need_root

export CALLER_SECRET=hunter2 PASSED=through LD_PRELOAD_X=1
run -- env
assert_status 0
assert_not_contains "$stdout" hunter2
assert_eq "$(sort "$tmp/stdout" | cut -d= -f1 | tr '\n' ' ')" \
	"HOME LANG LOGNAME PATH SHELL TMPDIR USER " "names"

run -e 'A=b=c' --env 'EMPTY=' -e $'LINE=1\n2' --env-pass PASSED --env-pass UNSET_ONE -- \
	sh -c 'printf "%s|" "$A" "${EMPTY-unset}" "$LINE" "$PASSED" "${UNSET_ONE-unset}" "${CALLER_SECRET-unset}"'
assert_status 0
assert_eq "$stdout" $'b=c||1\n2|through|unset|unset|'

run -e A=first -e A=second -- sh -c 'echo "$A"'
assert_eq "$stdout" second "the last one"
run -e PATH=/nowhere -e HOME=/tmp -- /bin/sh -c 'echo "$PATH $HOME"'
assert_eq "$stdout" "/nowhere /tmp"
