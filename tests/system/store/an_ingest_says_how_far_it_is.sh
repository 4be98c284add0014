#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# menace ingest tells how far it is on a terminal, takes the line away
# again, and says nothing of it elsewhere; purge and audit verify do so too (unit/test-progress)
#

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/store.sh"

need_root
need_program python3
need_file "$MENACE_HELPERS/on-a-terminal"
ON_A_TERMINAL_SECONDS=$(scaled 60)
export ON_A_TERMINAL_SECONDS TERM=xterm
terminal=$MENACE_HELPERS/on-a-terminal

run -q -- true
spool=$(find "$tmp/kept" -type f -name '*spool*' | head -n 1)
[ -s "$spool" ] || fail "no spool in $(find "$tmp/kept")"
copy_spool()
{
	python3 - "$tmp/one" "$spool" <<-'END'
		import sys
		piece = open(sys.argv[1], "rb").read()
		with open(sys.argv[2], "wb") as out:
		    out.write(piece * 2000)
	END
}
cp "$spool" "$tmp/one"
copy_spool
run_plain "$terminal" "expect=records taken in: " -- "$MENACE" ingest
assert_eq "$stderr" "status 0; modes kept" "ingest on a terminal"
assert_match "$stdout" $'records taken in: [0-9]+ *\r +\r1 taken in, 1999 known already'
assert_not_contains "$stdout" $'\e'
install -m 600 "$tmp/one" "$spool"
run_plain env TERM=dumb "$terminal" -- "$MENACE" ingest
assert_not_contains "$stdout" $'\e' "on a dumb terminal"
assert_not_contains "$stdout" "records taken in: " "on a dumb terminal"
copy_spool
menace ingest
assert_status 0
assert_eq "$stderr" "" "ingest without a terminal"
for command in "audit verify" "purge --all"; do
	# shellcheck disable=SC2086 # words
	run_plain "$terminal" -- "$MENACE" $command
	assert_eq "$stderr" "status 0; modes kept" "$command on a terminal"
	assert_not_contains "$stdout" $'\e' "$command"
done
