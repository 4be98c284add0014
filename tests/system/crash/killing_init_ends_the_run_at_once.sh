#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# SIGKILL of the sandbox's init from outside ends the whole tree and the run
# security

. "${0%/*}/../../lib/system.sh"

need_root
need_cgroups
check_leaks

mkfifo "$tmp/ready"
"$MENACE_RUN" -t "$(scaled 60)" -o "$result" -- \
	sh -c '(setsid sleep 1001 &); echo; sleep 1002' >"$tmp/ready" 2>"$tmp/stderr" &
supervisor=$!
read -r <"$tmp/ready"
kill -KILL "$(tr -d ' ' <"/proc/$supervisor/task/$supervisor/children")"
wait "$supervisor"
assert_eq $? 137 "exit status"
assert_reason signaled
assert_eq "$(json .exit.signal_name)" KILL "signal"
assert_eq "$(json .exit.code)" null "code"
