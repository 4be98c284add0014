#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# tally.sh [DISTRICT]... <postal votes, a line "VOTER OPTION" each: the votes of all districts, which a
# service has, and those by post, counted by option: a line "COUNT OPTION" each, the most first
#
# tally.conf has the service; TALLY_TRIES is how often it is asked, TALLY_PAUSE the seconds that it is left alone
# before.  A page that is no list of votes, and a line that is no vote, is left out and told.
#
# Planted: a field is found by its place in the text and not by its name, so that another
# version of the service's answer is not understood.

set -eu

service=$(sed -n 's/^service=\(http:[a-z.\/0-9]*\)$/\1/p' tally.conf)
tries=${TALLY_TRIES:-9}
pause=${TALLY_PAUSE:-0}
case "$tries:$pause:$service" in
[1-9]:[0-9]:http*) ;;
*)
	echo "tally: tally.conf, TALLY_TRIES or TALLY_PAUSE is no good" >&2
	exit 2
	;;
esac
for district; do
	case "$district" in
	*[!a-z]* | "")
		echo "usage: tally.sh [DISTRICT]..." >&2
		exit 2
		;;
	esac
done

# The pages that are not here yet; fails if there are none.
missing()
{
	for district; do
		[ -e "$district.page" ] || printf 'url = "%s/%s"\noutput = "%s.page"\n' "$service" "$district" "$district"
	done >pages.curl
	[ -s pages.curl ]
}

# Once: of eight look-ups at the same time over a bad line one is always lost.
look_up()
{
	getent ahosts "$host" | sed -n '1s/ .*//p'
}

host=${service#http://}
host=${host%%/*}
address=
# All at once, and again those that did not come.
while missing "$@"; do
	[ "$tries" -gt 0 ] || {
		echo "tally: the service fails" >&2
		exit 1
	}
	tries=$((tries - 1))
	sleep "$pause"
	[ -n "$address" ] || address=$(look_up)
	[ -z "$address" ] || curl -fZ --no-progress-meter --max-time 10 --remove-on-error \
		--resolve "$host:80:$address" -K pages.curl || :
done

# A page is a line.
set -- ./*.page
: >pages
[ ! -e "$1" ] || paste -s -d '\0' "$@" >pages
grep -a '^\[{.*}\]$' pages >usable || :
unusable=$(($(wc -l <pages) - $(wc -l <usable)))
records=$(tr -cd '{' <usable | wc -c)
tr '{' '\n' <usable | sed -n 's/^"option":"\([a-z]*\)","voter":"[a-z]*"}.*/\1/p' >votes
[ "$(wc -l <votes)" = "$records" ] || {
	echo "not all votes were counted" >&2
	exit 1
}
sed -n 's/^[a-z]\{1,20\} \([a-z]\{1,20\}\)$/\1/p' >>votes
sort votes | uniq -c | sort -k1,1nr -k2 | sed 's/^ *//'
echo "$unusable pages were unusable" >&2
