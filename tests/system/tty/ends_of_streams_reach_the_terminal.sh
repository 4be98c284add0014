#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# With --tty a reader that is gone hangs the terminal up, and the end of the input is one, behind an
# unfinished line too and where there is no room for it yet: a program that waits for either ends

. "${0%/*}/../../lib/system.sh"

need_root
[ -c /dev/ptmx ] || skip "no terminals"

"$MENACE_RUN" -q -t "$(scaled 60)" --tty -o "$result" -- yes </dev/null | head -n 1 >"$tmp/stdout"
statuses=("${PIPESTATUS[@]}")
assert_eq "$(tr -d '\r' <"$tmp/stdout")" y
assert_eq "${statuses[0]} $(json '.reason + " " + .exit.signal_name')" "129 signaled HUP"

# typed TEXT COMMAND...: what the command says last, of an input that ends behind TEXT
typed()
{
	local text=$1

	shift
	printf '%b' "$text" | "$MENACE_RUN" -q -t "$(scaled 60)" --tty -- "$@" >"$tmp/stdout"
	statuses=("${PIPESTATUS[@]}")
	echo "${statuses[1]} $(tr -d '\r' <"$tmp/stdout" | tail -n 1)"
}
for text in '' abc 'abc\n' 'abc\r' 'abc\004'; do
	size=$(printf '%b' "${text%'\004'}" | wc -c)
	assert_match "$(typed "$text" wc -c)" "^0 .*$size\$" "bytes of \"$text\""
done
lines=$(seq -s '\n' 1 3000)
assert_match "$(typed "$lines\n" sh -c 'stty -echo; sleep 0.5; wc -l')" '^0 .*3000$' "lines of more than there is room for"
