#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Perl and many daemons ignore SIGCHLD, and what they start inherits it: each command that waits for a child
# still tells how that ended. The mask, an alarm and a umask without rights of the owner are inherited too
# security

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/store.sh"
need_program python3

# inheriting COMMAND...: as the worst of callers would start it.  Sets status, stdout, stderr.
inheriting()
{
	# shellcheck disable=SC2034 # for fail
	printf -v last_command '%q ' "$@"
	status=0
	timeout -k 5 "$(scaled 50)" python3 -c '
import os, signal, sys
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
signal.signal(signal.SIGTERM, signal.SIG_IGN)
signal.pthread_sigmask(signal.SIG_BLOCK, set(range(1, 32)) - {signal.SIGKILL, signal.SIGSTOP})
os.umask(0o777)
os.execvp(sys.argv[1], sys.argv[1:])' "$@" >"$tmp/stdout" 2>"$tmp/stderr" || status=$?
	stdout=$(<"$tmp/stdout") stderr=$(<"$tmp/stderr")
}

inheriting "$MENACE_RUN" -o "$result" -- sh -c 'exit 7'
assert_status 7
assert_reason exited
inheriting "$MENACE_RUN" -- sh -c 'kill -TERM $$'
assert_status 143
inheriting "$MENACE_RUN" -t 0.5 -- sleep 60
assert_status 124

echo '{"schema": "menace.spec/1", "program": ["sh", "-c", "exit 7"]}' >"$tmp/specs"
inheriting "$MENACE_RUN" --batch <"$tmp/specs"
assert_status 0
assert_eq "$(jq -c '[.exit.code, .reason]' "$tmp/stdout")" '[7,"exited"]' "the result of a batch"

# as_plain WORD...: menace ends with the same status as where nothing is inherited.
as_plain()
{
	local plain

	menace "$@"
	plain=$status
	inheriting "$MENACE" "$@"
	assert_eq "$status" "$plain" "status of menace $1"
}

printf '{"schema": "menace.flow/1", "steps": [{"name": "one", "program": ["sh", "-c", "exit 7"]}]}' >"$tmp/flow.json"
as_plain doctor --json
as_plain flow run "$tmp/flow.json" --json
as_plain learn -- sh -c 'exit 7'
assert_contains "$stderr" "the program ended with status 7"
inheriting "$MENACE" scenario run --scenarios normal -r 1 -j 1 --json -- true
assert_status 0
