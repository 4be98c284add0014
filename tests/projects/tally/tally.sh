#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# The votes of a service, counted by option: a line "COUNT OPTION" each, the most first
#
# Planted: a field is found by its place in the text and not by its name, so that another
# version of the service's answer is not understood.

set -eu

page=${1:-http://votes.test/v1/all}
for try in 1 2 3 4 5 6 7 8; do
	curl -sS -f --max-time 20 "$page" >answer.json && break
	[ "$try" -lt 8 ]
done
tr '{' '\n' <answer.json | sed -n 's/^"option":"\([a-z]*\)","voter".*/\1/p' |
	sort | uniq -c | sort -k1,1nr -k2 | sed 's/^ *//' >tally.txt
[ "$(awk '{n += $1} END {print n}' tally.txt)" = 4 ] || {
	echo "not all votes were counted" >&2
	exit 1
}
cat tally.txt
