#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# What a program chose as a name, argument or path is shown and does not act, while it runs
# and afterwards; nor what the caller called the run
#
# security

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/store.sh"
. "$repo/tests/lib/telemetry.sh"
. "$repo/tests/lib/follow.sh"

need_telemetry
hostile=$'\e[31m\e]0;owned\a\nx\xe2\x80\xae\xff'
mkdir "$tmp/w"
chmod 777 "$tmp/w"
name=$'a\e[2Jb'
# shellcheck disable=SC2016 # for the shell inside
start_waiting "$name" --explain-denials --workspace "$tmp/w" -- sh -c 'echo waiting; read -r x
	cp /bin/true "/work/$1"; "/work/$1" "$1"; cat "/etc/shadow$1" 2>/dev/null; exit 0' sh "$hostile"
"$MENACE" events --follow "$id" >"$tmp/text" 2>&1 &
text=$!
wait_until 30 test -s "$tmp/text" || fail "nothing is followed"
follow "$id" "$tmp/followed"
"$MENACE" top >"$tmp/top"
"$MENACE" top --json >"$tmp/top.json"
go "$name"
end_of "$follower"
assert_status 0
end_of "$text"
assert_status 0
end_of "$supervisor" # a moment after its followers
assert_status 0
menace events "$id"
assert_contains "$stdout" '/work/\x1b[31m\x1b]0;owned\x07\x0ax'
for file in "$tmp/stdout" "$tmp/text" "$tmp/followed" "$tmp/top" "$tmp/top.json"; do
	[ -s "$file" ] || fail "$file is empty"
	! grep -q -P '[\x00-\x08\x0b-\x1f\x7f]' "$file" || fail "$file: a control character"
	! LC_ALL=C grep -q $'\xe2\x80\xae' "$file" || fail "$file: a change of direction"
done
assert_contains "$(cat "$tmp/text")" '/work/\x1b[31m\x1b]0;owned\x07\x0ax'
assert_contains "$(cat "$tmp/top")" 'a\x1b[2Jb'
assert_eq "$(gojq -r --arg id "$id" '.runs[] | select(.run_id == $id) | .name' "$tmp/top.json")" "$name" "name in JSON"
