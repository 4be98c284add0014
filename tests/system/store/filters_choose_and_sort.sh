#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# menace runs shows what was asked for, in the order asked for
#

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/store.sh"

need_root
need_cgroups

"$MENACE_RUN" -q --set limits.wall_ms=500 -- sleep 60
"$MENACE_RUN" -q -- sh -c 'exit 4'
"$MENACE_RUN" -q -c 'b = bytearray(60000000)' --lang python
"$MENACE_RUN" -q -- true

# programs [OPTION...]: of the runs that are listed, in their order.
programs()
{
	"$MENACE" runs --json "$@" | gojq -r .program | tr '\n' ' '
}

assert_eq "$(programs)" "true python sh sleep "
assert_eq "$(programs --sort oldest)" "sleep sh python true "
assert_eq "$(programs --sort memory | cut -d' ' -f1)" python
by_wall=$("$MENACE" query 'SELECT program FROM runs JOIN usage USING (run_id) ORDER BY wall_us DESC' --json | gojq -r .program)
assert_eq "$(programs --sort wall)" "$(tr '\n' ' ' <<<"$by_wall")"
assert_eq "$(programs --reason wall_timeout)" "sleep "
assert_eq "$(programs --program 's*')" "sh sleep "
assert_eq "$(programs -n 2)" "true python "
assert_eq "$(programs -n 0)" ""
assert_eq "$(programs --until 1970-01-01)" ""
assert_eq "$(programs --since 1970-01-01)" "true python sh sleep "
assert_eq "$("$MENACE" export --until 1970-01-01 | wc -l)" 0 "exported"
assert_eq "$(programs --since 1h)" "true python sh sleep "
assert_eq "$(programs --until 1h)" ""
assert_eq "$(programs --since 2100-01-01)" ""
assert_eq "$(programs --until 2100-01-01T12:00:00 --reason oom)" ""
menace runs
assert_eq "$(wc -l <"$tmp/stdout")" 5 "lines"
assert_contains "$stdout" "wall_timeout    124"
