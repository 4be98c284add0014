#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# A file that an earlier run left where the result of -o goes is replaced, not written to:
# its owner, mode and mappings are the payload's choice
# security

. "${0%/*}/../../lib/system.sh"

need_system_program python3
mkdir "$tmp/rw" "$tmp/away"
chmod 777 "$tmp/rw"

# Everybody may write, somebody has it open and mapped, and it has the bits of a planted program.
(umask 0; head -c 65536 /dev/zero >"$tmp/rw/result.json")
chmod 6777 "$tmp/rw/result.json"
ln "$tmp/rw/result.json" "$tmp/away/planted"
planted=$(stat -c '%i %a %s' "$tmp/away/planted")
run_plain "$MENACE_RUN" -q -o "$tmp/rw/result.json" --rw "$tmp/rw:/rw" -- true
assert_status 0
assert_eq "$(jq -r .schema "$tmp/rw/result.json")" menace.result/1 "the result"
assert_eq "$(stat -c '%a %h' "$tmp/rw/result.json")" "644 1" "mode and names of the result"
assert_eq "$(stat -c '%i %a %s' "$tmp/away/planted")" "$planted" "what was planted"
assert_eq "$(tr -d '\0' <"$tmp/away/planted" | wc -c)" 0 "bytes of ours in what was planted"

# A payload that makes something else of the name meanwhile: the result takes its place.
for plant in "ln -s $tmp/away/new /rw/result.json" "mkfifo /rw/result.json" \
	"mkdir /rw/result.json && echo x >/rw/result.json/x" \
	": >/rw/result.json && chmod 777 /rw/result.json"; do
	run_plain "$MENACE_RUN" -q -o "$tmp/rw/result.json" --rw "$tmp/rw:/rw" -- sh -c "$plant"
	assert_status 0
	assert_eq "$(stat -c '%F %a' "$tmp/rw/result.json")" "regular file 644" "the result after $plant"
	assert_eq "$(jq -s -r 'length, .[0].schema' "$tmp/rw/result.json" | tr '\n' ' ')" \
		"1 menace.result/1 " "documents after $plant"
	assert_absent "$tmp/away/new"
done
assert_eq "$(cat "$tmp"/rw/.menace-*/x)" x "the folder that had the name of the result"

# A device, a fifo with a reader and a descriptor stay what they are.
run_plain "$MENACE_RUN" -q -o /dev/null -- true
assert_status 0
[ -c /dev/null ] || fail "/dev/null was replaced"
mkfifo "$tmp/fifo"
cat "$tmp/fifo" >"$tmp/read" &
reader=$!
exec 7<>"$tmp/fifo"
run_plain "$MENACE_RUN" -q -o "$tmp/fifo" -- true
assert_status 0
exec 7>&-
wait "$reader"
[ -p "$tmp/fifo" ] || fail "the fifo was replaced"
assert_eq "$(jq -r .schema "$tmp/read")" menace.result/1 "the result in the fifo"
chmod 666 "$tmp/away/planted"
exec 7>"$tmp/away/planted"
run_plain "$MENACE_RUN" -q -o FD:7 -- true
exec 7>&-
assert_status 0
assert_eq "$(stat -c %i "$tmp/away/planted")" "${planted%% *}" "the file of FD:7"
assert_eq "$(jq -r .schema "$tmp/away/planted")" menace.result/1 "the result in FD:7"
