#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# menace show draws the distributions of a run and lists its system calls, those that took longest
# first; the sources of its CPU time stand side by side

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/store.sh"
. "$repo/tests/lib/telemetry.sh"

need_telemetry
need_program python3
"$MENACE_RUN" -q --telemetry default,+syscalls,+syscall_times -- sh -c 'sleep 0.3; cat /none' 2>"$tmp/none"
id=$(run_ids | tail -n 1)
menace show "$id"
assert_status 0
cp "$tmp/stdout" "$tmp/shown"
for column in cpu_us cpu_rusage_us cpu_bpf_us cpu_difference_us; do
	grep -q "^  $column  " "$tmp/shown" || fail "no $column: $(cat "$tmp/shown")"
done

# counts NAME: the numbers beside its bars, added up.
counts()
{
	awk -v name="$1" 'NF == 1 { on = $1 == name } on && NF > 3 { for (i = 2; i <= NF; i++) if ($i ~ /^\|/) n += $(i - 1) }
		END { print n }' "$tmp/shown"
}
for name in cpu_run cpu_wait syscall; do
	stored=$("$MENACE" query "SELECT sum(count) FROM histograms WHERE name = '$name' AND run_id = '$id'" | tail -n 1)
	assert_eq "$(counts $name)" "$stored" "what is drawn of $name"
done
assert_eq "$(grep -o '#*$' "$tmp/shown" | awk '{ print length($1) }' | sort -n | tail -n 1)" 40 "the longest bar"
assert_match "$(sed -n '/^System calls$/,/^$/p' "$tmp/shown" | sed -n 2,4p)" 'clock_nanosleep|wait4' "what took longest"
assert_match "$(cat "$tmp/shown")" 'openat -> ENOENT' "an outcome"
! grep -q $'\e' "$tmp/shown" || fail "colours without a terminal"
menace show --json "$id"
assert_eq "$(gojq '[.histograms[].count] | add' <<<"$stdout")" \
	"$("$MENACE" query "SELECT sum(count) FROM histograms WHERE run_id = '$id'" | tail -n 1)" "distributions in JSON"
assert_eq "$(gojq '[.syscalls[].count] | add' <<<"$stdout")" \
	"$("$MENACE" query "SELECT sum(count) FROM syscalls WHERE run_id = '$id'" | tail -n 1)" "system calls in JSON"

# Nobody draws for ever what somebody wrote into the store.
edit "UPDATE histograms SET bucket = -1000000000000 WHERE bucket = (SELECT min(bucket) FROM histograms) AND name = 'cpu_run'"
edit "UPDATE histograms SET bucket = -1000000000000 WHERE bucket = (SELECT min(bucket) FROM histograms WHERE name = 'syscall') AND name = 'syscall'"
edit "UPDATE histograms SET bucket = 1000000000000 WHERE bucket = (SELECT max(bucket) FROM histograms)"
menace show "$id"
assert_status 0
assert_le "$(wc -l <"$tmp/stdout")" 600 "lines"
menace audit verify
assert_status 1
assert_match "$stdout" "table histograms, row [0-9]+: bucket is"

menace_off=$("$MENACE_RUN" -q -o - --telemetry off -- true | gojq -r .run_id)
menace show "$menace_off"
assert_not_contains "$stdout" Distributions
assert_not_contains "$stdout" "System calls"
