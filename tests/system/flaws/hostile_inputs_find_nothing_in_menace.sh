#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Each of the shipped hostile inputs, given to menace itself wherever it reads something: it is refused or taken
# as the data that it is; nothing dies of it, nothing is executed, and what the program gets is the same bytes
#
# security

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/store.sh"

need_root
mapfile -t ids < <(sed -n 's/^HOSTILE("\([^"]*\)".*/\1/p' "$repo/runtime/spec/hostile.def")
assert_ge "${#ids[@]}" 60 "hostile inputs"
mkdir "$tmp/here" && cd "$tmp/here" || fail "no folder to be in"

# answers ID COMMAND...: with a status of its own, and in time.
answers()
{
	local id=$1

	shift
	timeout -k 5 "$(scaled 20)" "$@" >"$tmp/out" 2>"$tmp/err" <"$tmp/input"
	status=$?
	case $status in
	0 | 1 | 2 | 125 | 126 | 127) ;;
	*) fail "$id: status $status of $*: $(tail -c 500 "$tmp/err")" ;;
	esac
}

# refuses ID COMMAND...: and says what it does not take.
refuses()
{
	answers "$@"
	[ "$status" -ne 0 ] || fail "$1 is taken by ${*:2}"
	[ -s "$tmp/err" ] || fail "$1: ${*:2} says nothing"
}

for id in "${ids[@]}"; do
	"$MENACE_RUN" -q --store none --set failure.modes=hostile_input --set failure.hostile="$id" -- cat </dev/null >"$tmp/input" ||
		fail "$id cannot be had"
	if [ -s "$tmp/input" ]; then
		refuses "$id" "$MENACE_RUN" --spec "$tmp/input"
		refuses "$id" "$MENACE_RUN" --policy "$tmp/input" -- true
		refuses "$id" "$MENACE" flow run "$tmp/input"
	fi
	answers "$id" "$MENACE_RUN" --batch
	answers "$id" "$MENACE_RUN" --preset "$tmp/input" -- true
	answers "$id" "$MENACE" preset check "$tmp/input"

	# As a word: what a word can hold.
	word=$(tr -d '\0' <"$tmp/input" | head -c 100000; printf x)
	word=${word%x}
	answers "$id" "$MENACE_RUN" -q --store none --env WORD="$word" -- sh -c 'printf %s "$WORD" "$1"' sh "$word"
	[ "$status" -eq 0 ] || fail "$id as an argument: $(tail -c 500 "$tmp/err")"
	cmp -s "$tmp/out" <(printf %s "$word$word") || fail "$id: other bytes come to the program"
	refuses "$id" "$MENACE_RUN" --memory "x$word" -- true
	answers "$id" "$MENACE" query "$word"
	answers "$id" "$MENACE" show "$word"
	answers "$id" "$MENACE_RUN" --hostname "$word" -- true
done
assert_eq "$(ls -A)" "" "files that somebody made"
[ ! -e /pwned ] && [ ! -e "$HOME/pwned" ] || fail "an input was executed"
menace audit verify
assert_status 0
