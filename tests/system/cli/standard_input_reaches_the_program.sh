#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Input by pipe, file and --stdin, binary and large; what a program leaves unread
# of a file stays for the next one
#

. "${0%/*}/../../lib/system.sh"

need_root

need_program python3
python3 -c 'import random, sys; sys.stdout.buffer.write(random.Random(1).randbytes(3000000))' >"$tmp/in"
sum=$(sha256sum <"$tmp/in")
run -- sha256sum <"$tmp/in"
assert_eq "$stdout" "$sum" "from a file"
run --stdin "$tmp/in" -- sha256sum </dev/null
assert_eq "$stdout" "$sum" "--stdin"
assert_eq "$(sha256sum < <("$MENACE_RUN" -- cat < <(cat "$tmp/in")))" "$sum" "from a pipe"
assert_eq "$("$MENACE_RUN" -- cat <"$tmp/in" | sha256sum)" "$sum" "through to standard output"
run -- head -c 5 </dev/zero
assert_eq "$(stat -c %s "$tmp/stdout")" 5 "from a device"
run -- wc -c <&-
assert_eq "$status:$stdout" 0:0 "closed"

seq 5 >"$tmp/lines"
{
	"$MENACE_RUN" -- sh -c 'read -r a; read -r b; echo "$a $b"' >"$tmp/first"
	cat >"$tmp/rest"
} <"$tmp/lines"
assert_eq "$(cat "$tmp/first")" "1 2"
assert_eq "$(cat "$tmp/rest")" $'3\n4\n5' "what was not read"

# A program that never reads does not hold us up, nor does an input that never ends.
run -- true <"$tmp/in"
assert_status 0
mkfifo "$tmp/silent"
exec 9<>"$tmp/silent"
run -- true <&9
assert_status 0
