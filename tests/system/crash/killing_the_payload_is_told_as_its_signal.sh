#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# A payload killed from outside ended by a signal; it is no failure of ours and
# nothing it started lives on
# security

. "${0%/*}/../../lib/system.sh"

need_root
need_cgroups
check_leaks

mkfifo "$tmp/ready"
"$MENACE_RUN" -o "$result" -- \
	sh -c 'sleep 1001 & echo; sleep 1002' >"$tmp/ready" 2>"$tmp/stderr" &
supervisor=$!
read -r <"$tmp/ready"
init=$(tr -d ' ' <"/proc/$supervisor/task/$supervisor/children")
payload=$(cut -d' ' -f1 "/proc/$init/task/$init/children")
assert_eq "$(cat "/proc/$payload/comm")" sh "payload"
kill -KILL "$payload"
wait "$supervisor"
assert_eq $? 137 "exit status"
assert_reason signaled
assert_eq "$(json '[.exit.status, .exit.code, .exit.signal, .exit.signal_name] | @json')" \
	'[137,null,9,"KILL"]' "exit"
assert_eq "$(json .error)" null "error"
assert_ge "$(json .leftover_killed)" 1 "leftover processes"
