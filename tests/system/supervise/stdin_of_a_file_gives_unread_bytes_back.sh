#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# What the program did not read is there for the next, as in any shell script

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/limits.sh"

need_limits

seq 1 100000 >"$tmp/lines"
{
	"$MENACE_RUN" sh -c 'read -r a; read -r b; echo "$a $b"'
	read -r line
	echo "then $line"
	"$MENACE_RUN" head -n 1
	read -r line
	echo "then $line"
	"$MENACE_RUN" true
	read -r line
	echo "then $line"
	"$MENACE_RUN" wc -l
	read -r line || echo "then the end"
} <"$tmp/lines" >"$tmp/stdout"
mapfile -t said <"$tmp/stdout"
assert_eq "${said[0]}" "1 2"
assert_eq "${said[1]}" "then 3"
# head took a block from its pipe to find a line: that is read; what it left is not.
assert_eq "${said[2]}" 4
assert_match "${said[3]}" '^then [0-9]+$'
assert_match "${said[4]}" '^then [0-9]+$'
assert_eq "${said[4]#then }" $((${said[3]#then } + 1)) "line after a program that reads nothing"
assert_eq "${said[5]}" $((100000 - ${said[4]#then })) "lines left"
assert_eq "${said[6]}" "then the end"
