#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# What menace cannot print is one error, however it prints and however much; a reader that has gone is none

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/store.sh"
need_root

for _ in 1 2 3; do
	"$MENACE_RUN" -- true || fail "no run to export"
done

# A pipe without a reader.
mkfifo "$tmp/pipe"
exec 7<>"$tmp/pipe"
exec 8>"$tmp/pipe"
exec 7>&-

# more_than BYTES COMMAND...: it has so much to say; and where that goes nowhere.
more_than()
{
	local bytes=$1 lines

	shift
	"$MENACE" "$@" >"$tmp/all" 2>"$tmp/err" || fail "$*: $(cat "$tmp/err")"
	assert_ge "$(wc -c <"$tmp/all")" "$bytes" "what $* says"
	lines=$(wc -l <"$tmp/err")

	"$MENACE" "$@" >/dev/full 2>"$tmp/err"
	assert_eq "$?" 125 "status of $*"
	assert_eq "$(grep -c '^menace: standard output: ' "$tmp/err")" 1 "errors of $*"
	assert_eq "$(wc -l <"$tmp/err")" $((lines + 1)) "lines of $*: $(cat "$tmp/err")"

	(trap '' PIPE && exec "$MENACE" "$@" >&8 2>"$tmp/err")
	assert_eq "$?:$(wc -l <"$tmp/err")" "0:$lines" "$* without a reader: $(cat "$tmp/err")"
}
more_than 10 --version
more_than 20000 export
assert_eq "$(cat "$tmp/err")" ""
more_than 4200 export --format prometheus
more_than 1000 preset canonical
more_than 10000 preset generate --seed 1 --count 20
more_than 100000 query 'WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c) SELECT n FROM c LIMIT 20000'
mkdir "$tmp/many"
touch "$tmp/many/file-with-a-name-"{100..299}
# shellcheck disable=SC2016 # for the shell inside
more_than 4200 learn --threshold 1000 --ro "$tmp/many:/many" -- sh -c 'for f in /many/*; do true <"$f"; done'

# The errno of what was lost long ago is not made up.
"$MENACE" query 'WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c) SELECT n FROM c LIMIT 20000' >/dev/full 2>"$tmp/err"
assert_match "$(cat "$tmp/err")" '^menace: standard output: (No space left on device|not all of it could be written)$'
