#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# --json FILE, FD:N and -; the program's output stays apart from it
#
# sanitizers

. "${0%/*}/../../lib/system.sh"

need_root

run_plain "$MENACE_RUN" -o "$tmp/r" -- echo out
assert_eq "$status:$stdout" 0:out
assert_eq "$(gojq -r '.schema + " " + .reason + " " + .stdout.text' "$tmp/r")" \
	$'menace.result/1 exited out' "file"

exec 5>"$tmp/five"
run_plain "$MENACE_RUN" --json=FD:5 -- echo out
exec 5>&-
assert_eq "$status:$stdout" 0:out
assert_eq "$(gojq -r .reason "$tmp/five")" exited "descriptor"

run_plain "$MENACE_RUN" -o - -- sh -c 'echo out; echo err >&2'
assert_status 0
assert_eq "$(gojq -r '.stdout.text + .stderr.text' "$tmp/stdout")" $'out\nerr' "standard output"
assert_eq "$(gojq -s length "$tmp/stdout")" 1 "documents"
assert_contains "$stderr" err

run_plain "$MENACE_RUN" -o FD:77 -- echo ran
assert_refused FD:77 "not open"
# A number that is free when we are started is ours by the time that it is looked at.
mkdir "$tmp/out"
for fd in 3 4 5 6 7 8 9 10 11 12; do
	eval "exec $fd>&-"
done
for fd in 3 4 5 6 7 8 9 10 11 12; do
	run_plain "$MENACE_RUN" -o "FD:$fd" --rw "$tmp/out" -- touch "$tmp/out/ran"
	assert_refused "--json FD:$fd: that descriptor is not open"
done
run_plain "$MENACE_RUN" -o FD:0 --rw "$tmp/out" -- touch "$tmp/out/ran" </dev/null
assert_refused "--json FD:0: that descriptor is not open for writing"
"$MENACE_RUN" -o - --rw "$tmp/out" -- touch "$tmp/out/ran" 1<"$tmp/r" 2>"$tmp/err"
assert_eq "$?:$(cat "$tmp/err")" "2:menace-run: --json -: that descriptor is not open for writing"
assert_absent "$tmp/out/ran"
run_plain "$MENACE_RUN" -o FD:0 --rw "$tmp/out" -- touch "$tmp/out/ran" 0>"$tmp/zero"
assert_status 0
assert_eq "$(gojq -r .reason "$tmp/zero")" exited "descriptor 0"
[ -e "$tmp/out/ran" ] || fail "it would not have been seen to run"
run_plain "$MENACE_RUN" -o "$tmp/no/such/folder" -- echo ran
assert_refused "$tmp/no/such/folder" "No such file or directory"
ln -s "$tmp/target" "$tmp/link"
run_plain "$MENACE_RUN" -o "$tmp/link" -- echo ran
assert_refused "$tmp/link"
assert_absent "$tmp/target"

# Bytes that are not text, and a NUL, come back exactly.
run -- printf '\377\000\001\n'
assert_eq "$(json .stdout.encoding)" base64
assert_eq "$(json .stdout.base64 | base64 -d | od -An -tx1)" " ff 00 01 0a"
assert_eq "$(od -An -tx1 <"$tmp/stdout")" " ff 00 01 0a" "forwarded bytes"
