#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# SIGKILL of the sandbox's init from outside ends the whole tree and the run, which says so
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
assert_eq $? 125 "exit status"
assert_reason supervisor_lost
assert_contains "$(json .error.message)" "the sandbox's init was killed, not by menace-run"
assert_contains "$(<"$tmp/stderr")" "the sandbox's init was killed, not by menace-run"
assert_eq "$(json '[.exit.signal_name, .exit.code] | @json')" "[null,null]" "the program's own end"
