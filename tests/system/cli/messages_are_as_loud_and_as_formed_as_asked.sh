#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# -q, -v, --log-format, --summary; --version and --help run nothing
#
# sanitizers

. "${0%/*}/../../lib/system.sh"

need_root

run_plain "$MENACE_RUN" -t 0.1 -- sleep 9
assert_match "$stderr" '^menace-run: run [0-9a-z]{26}: wall_timeout after [0-9]+\.[0-9]+ s$'
run_plain "$MENACE_RUN" -q -t 0.1 -- sleep 9
assert_eq "$status:$stderr" 124: "quiet"
run_plain "$MENACE_RUN" -q -- no-such-program
assert_contains "$stderr" "no-such-program"

run_plain "$MENACE_RUN" --log-format json -t 0.1 -- sleep 9
assert_eq "$(gojq -s length "$tmp/stderr")" 1 "JSON messages"
assert_contains "$(gojq -r '.message // .msg' "$tmp/stderr")" wall_timeout
run_plain "$MENACE_RUN" --log-format=json -- $'no\nsuch "program"'
assert_eq "$(gojq -s length "$tmp/stderr")" 1 "JSON messages about a hostile name"

# A name of any bytes is told without what a terminal acts on, and in JSON as far as it is text.
hostile=$'no\e[2J\xc2\x9b2J\xe2\x80\xaeX'
run_plain "$MENACE_RUN" -- "$hostile"$'\xff'
assert_eq "$stderr" 'menace-run: no?[2J?2J?X?: not found in the sandbox' "a hostile name in text"
for end in '' $'\xff'; do
	run_plain "$MENACE_RUN" --log-format json -- "$hostile$end"
	iconv -f UTF-8 -t UTF-8 "$tmp/stderr" >"$tmp/text" || fail "a message that is no UTF-8"
	! LC_ALL=C grep -q -P '[\x00-\x09\x0b-\x1f]|\xc2\x9b|\xe2\x80\xae' "$tmp/text" || fail "a sign that acts"
	assert_eq "$(gojq -r .message "$tmp/text")" "$hostile${end:+�}: not found in the sandbox" "a hostile name in JSON"
done
run_plain "$MENACE_RUN" --summary -- "$hostile"
! LC_ALL=C grep -q -P '[\x00-\x09\x0b-\x1f]|\xc2\x9b|\xe2\x80\xae' "$tmp/stderr" || fail "a sign that acts in the summary"

run_plain "$MENACE_RUN" -- true
assert_eq "$status:$stdout$stderr" 0: "nothing to say"

run_plain "$MENACE_RUN" --summary -- sh -c 'unshare -U true; exit 3'
assert_status 3
assert_contains "$stderr" "exited, exit status 3"
assert_match "$stderr" 'unshare.* -> EPERM \(namespace\) x1'
assert_contains "$stderr" "seccomp enforced (level 3)"

run_plain "$MENACE_RUN" --version ignored
assert_status 0
assert_match "$stdout" '^menace-run [0-9]+\.[0-9]+\.[0-9]+$'
run_plain "$MENACE_RUN" --help
assert_status 0
for option in --timeout --memory --workspace --batch --dry-run --best-effort; do
	assert_contains "$stdout" " $option"
done
assert_eq "$(awk 'length > 120' "$tmp/stdout")" "" "long lines"
run_plain sh -c '"$0" --help >/dev/full' "$MENACE_RUN"
assert_status 125
