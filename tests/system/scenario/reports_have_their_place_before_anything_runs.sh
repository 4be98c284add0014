#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# A report that cannot be written where it is asked for costs no run; one that fails in the end takes
# neither the table nor the other report with it, and says how to get it after all
#
# sanitizers

. "${0%/*}/../../lib/system.sh"
need_root
need_program unshare mount
with_own_mounts
. "$repo/tests/lib/store.sh"

for option in --html --junit; do
	menace scenario run --scenarios normal "$option" "$tmp/none/report" -- true
	assert_refused "$option: open the folder of $tmp/none/report: No such file or directory"
	menace scenario run --scenarios normal "$option" - -- true
	assert_refused "$option: - is standard output, which has something else; a file of that name is ./-"
	assert_eq "$(count_runs)" 0 "runs"
	menace query 'SELECT matrix FROM matrices'
	assert_eq "$stdout" "" "matrices"
done

mkdir "$tmp/small"
mount -t tmpfs -o size=4k none "$tmp/small" || fail "no tmpfs"
at_exit umount -l "$tmp/small"
head -c 4096 /dev/zero >"$tmp/small/all"
menace scenario run --scenarios normal -s 1 --slo 1h --html "$tmp/small/page" --junit "$tmp/junit.xml" -- true
assert_status 125
assert_contains "$stderr" "--html: write $tmp/small/page: No space left on device"
assert_contains "$stdout" "status: robust" "the table"
assert_contains "$(cat "$tmp/junit.xml")" '</testsuites>' "the other report"
matrix=$(sed -n 's/^matrix \([0-9a-f]*\),.*/\1/p' <<<"$stdout")
assert_contains "$stderr" "menace scenario run --resume $matrix goes on from what was kept"
assert_absent "$tmp/small/page"

# Nothing is run again for it.
runs=$(count_runs)
menace scenario run --resume "$matrix" --html "$tmp/page"
assert_status 0
assert_contains "$(cat "$tmp/page")" "$matrix" "the page"
assert_eq "$(count_runs)" "$runs" "runs"
assert_eq "$(ls -A "$store.flows")" "" "files"

# Both are told.
menace scenario run --scenarios normal --html "$tmp/small/page" --junit "$tmp/small/junit" -- true
assert_status 125
assert_contains "$stderr" "--html: write $tmp/small/page: No space"
assert_contains "$stderr" "--junit: write $tmp/small/junit: No space"
