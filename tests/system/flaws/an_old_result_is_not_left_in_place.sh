#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# A run that fails before it has a result leaves no result of an earlier run that could be
# taken for its own, and a result that is cut short by the disk is no file

. "${0%/*}/../../lib/system.sh"

old()
{
	echo '{"schema": "menace.result/1", "reason": "exited", "exit": {"code": 0}}' >"$tmp/r.json"
}

old
run_plain "$MENACE_RUN" -q -o "$tmp/r.json" --ready-fd 99 -- true
assert_status 2
assert_absent "$tmp/r.json"

old
run_plain bash -c 'ulimit -n 8; exec "$@"' bash "$MENACE_RUN" -q -o "$tmp/r.json" -- true
assert_status 125
assert_absent "$tmp/r.json"
