#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# nsjail, change 268: a folder as standard input is a right to the file system
# (fchdir, openat)
# security

. "${0%/*}/../../lib/system.sh"

helpers=${MENACE_HELPERS:-$repo/build/bin/helpers}
need_file "$helpers/show-fds"
install -m 755 "$helpers/show-fds" "$tmp/show-fds"
"$tmp/show-fds" </ >"$tmp/control"
assert_contains "$(cat "$tmp/control")" "0 leads to /" "control"

for options in "" --userns --tty "--level 2"; do
	# shellcheck disable=SC2086 # words
	"$MENACE_RUN" $options --ro "$tmp/show-fds:/show-fds" -- /show-fds </ >"$tmp/out" 2>"$tmp/err"
	assert_eq "$? $(cat "$tmp/out")" "2 " "status and output with '$options' and a folder as 0"
	assert_contains "$(cat "$tmp/err")" "is a directory" "message with '$options'"
done
run --stdin / -- cat
assert_refused "standard input is a directory"
run --stdin "$tmp" -- cat
assert_refused "standard input is a directory"

"$MENACE_RUN" --ro "$tmp/show-fds:/show-fds" -- sh -c '/show-fds >/work/o; cat /work/o >&2' \
	1</ 2>"$tmp/err"
assert_eq "$?" 2 "status with a folder as 1"
assert_contains "$(cat "$tmp/err")" "descriptor 1 is a directory" "message"
"$MENACE_RUN" --ro "$tmp/show-fds:/show-fds" -- /show-fds 2</ >"$tmp/out"
assert_eq "$? $(cat "$tmp/out")" "2 " "status and output with a folder as 2"
