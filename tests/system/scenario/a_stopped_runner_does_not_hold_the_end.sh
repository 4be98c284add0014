#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# menace scenario ends at SIGTERM also when the menace-run that it drives is stopped, and
# with too few open files it ends by itself
# security

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/store.sh"

need_root
need_cgroups

children_of()
{
	cat "/proc/$1/task/$1/children" 2>/dev/null
}

# A sandbox of its own: it does what it is for.
runner_is_busy()
{
	runner=$(children_of "$driver")
	runner=${runner%% *}
	[ -n "$runner" ] && [ -n "$(children_of "$runner")" ]
}

"$MENACE" scenario run -j 1 -- sleep 1000 >"$tmp/stdout" 2>"$tmp/stderr" &
driver=$!
wait_until 50 runner_is_busy || fail "no menace-run of the driver has a sandbox"
kill -STOP "$runner"
kill -TERM "$driver"
wait "$driver"
assert_eq $? 143 "exit status: $(cat "$tmp/stderr")"
assert_absent "/proc/$runner"

(ulimit -n 24 && exec "$MENACE" scenario run -j 4 -- sh -c 'exit 0') >"$tmp/stdout" 2>"$tmp/stderr"
assert_eq $? 125 "exit status with few open files"
assert_contains "$(cat "$tmp/stdout" "$tmp/stderr")" "no more than 24 are allowed here: raise the limit (ulimit -n)"
