#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# isolate before 2.6: boxes saw each other's flock() on files that both may read
#
# A lock on a file of the host's system is one bit that another run can read.

. "$(dirname "$0")/../../lib/system.sh"

helpers=${MENACE_HELPERS:-$repo/build/bin/helpers}
need_root
need_file "$helpers/meet"
install -m 755 "$helpers/meet" "$tmp/meet"

check()
{
	local line

	coproc put { "$MENACE_RUN" -q "$@" --ro "$tmp/meet:/meet" -- /meet put /usr/bin/env; }
	while read -r line <&"${put[0]}" && [ "$line" != ready ]; do :; done
	assert_eq "$line" ready "the first box"
	run "$@" --ro "$tmp/meet:/meet" -- /meet get /usr/bin/env
	assert_status 0
	assert_eq "$(grep ' found$' "$tmp/stdout")" "" "signs found with '$*'"
	# shellcheck disable=SC2154 # set by coproc
	eval "exec ${put[1]}>&-"
	wait "$put_PID" 2>/dev/null
}
check
check --userns
