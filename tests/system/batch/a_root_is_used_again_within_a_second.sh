#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# In a batch a run gets the root that the one before it has left, if that is not a second old
#
# lane: soak (three runs have to be over within a second)

. "${0%/*}/../../lib/system.sh"

need_root
need_cgroups
mkfifo "$tmp/in" "$tmp/out"
"$MENACE_RUN" --batch -t "$(scaled 60)" <"$tmp/in" >"$tmp/out" &
batch=$!
exec 5>"$tmp/in" 6<"$tmp/out"

# made: sets $root to what a run tells its root by.
made()
{
	echo '{"schema": "menace.spec/1", "program": ["stat", "-c", "%z-%d", "/etc/passwd"]}' >&5
	read -r -t "$(scaled 60)" -u 6 line || fail "no result"
	root=$(gojq -j .stdout.text <<<"$line")
	assert_match "$root" '^20' "time of /etc/passwd"
}
# Of three within a second the last two have the same, or the first two.
is_used_again()
{
	local begin one two

	begin=$(now_ms)
	made && one=$root
	made && two=$root
	made
	[ "$one" = "$two" ] || [ "$two" = "$root" ] || [ $(($(now_ms) - begin)) -ge 900 ] || fail "three runs within a second have three roots"
	[ "$one" = "$two" ] || [ "$two" = "$root" ]
}
patiently is_used_again || fail "never three runs within a second"
exec 5>&-
wait $batch
assert_eq $? 0 "exit status"
