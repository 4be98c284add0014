#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# What a program chose as a name is shown and does not act, in tables and in JSON;
# no colours where none are wanted
#
# security
# sanitizers

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/store.sh"

need_root
need_program script

mkdir "$tmp/w"
chmod 777 "$tmp/w"
hostile=$'\e[31m\e]0;owned\a\nline\xe2\x80\xae'
run --workspace "$tmp/w" --explain-denials -- sh -c 'echo >"/work/$1"; cat "/etc/shadow$1"; true' sh "$hostile"
assert_status 0
id=$(run_ids)
for command in "runs" "show $id" "query 'SELECT * FROM changes'" "query 'SELECT argv FROM runs'" \
	"diff $id $id" "runs --json" "show $id --json" "export" "hold"; do
	run_plain bash -c "'$MENACE' $command"
	assert_le "$status" 1 "status of $command"
	! grep -q -P '[\x00-\x08\x0b-\x1f\x7f]' "$tmp/stdout" || fail "$command: a control character"
	! grep -q $'\xe2\x80\xae' "$tmp/stdout" || fail "$command: a change of direction"
done
menace show "$id"
assert_contains "$stdout" 'added        \x1b[31m\x1b]0;owned\x07\x0aline\u{202e}'

# A terminal gets colours, unless NO_COLOR says no; then nothing but text either.
on_terminal()
{
	script -q -e -c "$1 $MENACE show $id" /dev/null </dev/null
}
[[ $(TERM=xterm on_terminal env) == *$'\e[1m'* ]] || fail "no colours on a terminal"
[[ $(TERM=xterm on_terminal "env NO_COLOR=1") != *$'\e'* ]] || fail "colours with NO_COLOR"
[[ $(TERM=dumb on_terminal env) != *$'\e'* ]] || fail "colours on a dumb terminal"

# Nor does what somebody with an editor wrote into the store.
edit "UPDATE store_info SET value = 'a\"' || char(27) || '[31m' WHERE name = 'id'"
menace audit head
assert_status 0
assert_contains "$stdout" 'store a"\x1b[31m'
menace audit head --json
assert_eq "$(gojq -c .store "$tmp/stdout")" '"a\"\u001b[31m"' "id of the store"
edit "UPDATE limits SET asked = char(27) || '[31m', kernel = char(27), kernel_file = char(27)"
menace show "$id"
assert_status 0
! grep -q -P '\x1b' "$tmp/stdout" || fail "a control character of the table limits"
assert_contains "$stdout" '\x1b[31m'
edit "INSERT INTO events (run_id, n, boot_ns, type, object, comm, detail)
	SELECT run_id, 1000000, 1, 'crash', char(27) || '[31m', char(27),
		json_object('address', char(27) || '[32m', 'frames', json_array(char(27) || '[33m', 7))
	FROM runs"
menace show "$id"
assert_status 0
! grep -q -P '\x1b' "$tmp/stdout" || fail "a control character of a crash"
assert_contains "$stdout" 'SIG\x1b[31m at \x1b[32m in \x1b'
assert_contains "$stdout" '#0  \x1b[33m'
