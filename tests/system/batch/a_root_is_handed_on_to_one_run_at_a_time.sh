#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# In a batch a run gets the root that the one before it has left, unless it would make another or
# that is a second old; two that run at the same time never have the same, and nothing that a run
# does to its root reaches the next

. "${0%/*}/../../lib/system.sh"

need_root
need_cgroups
mkfifo "$tmp/in" "$tmp/out"
"$MENACE_RUN" --batch -j 2 -t "$(scaled 60)" <"$tmp/in" >"$tmp/out" &
batch=$!
exec 5>"$tmp/in" 6<"$tmp/out"

# spec SCRIPT [MEMBERS]
spec()
{
	printf '{"schema": "menace.spec/1", "program": ["sh", "-c", "%s"]%s}\n' "$1" "${2:+, $2}" >&5
}
# Of the next result what it has said.
answer()
{
	read -r -t "$(scaled 60)" -u 6 line || fail "no result"
	gojq -j .stdout.text <<<"$line"
}
# A file of the root is as old as the root; two that are made in one tick of the clock are on file
# systems of their own.
made='stat -c %z-%d /etc/passwd'
spec "$made"
first=$(answer)
assert_match "$first" '^20[0-9-]+ ' "time of /etc/passwd"
# One root is used for a second, so of three runs within one the last two have the same, or the first two.
# Where all is slow no three are.
leave='echo a >/tmp/left; echo a >/etc/left; mkdir /run/left; ln -s a /dev/left; chmod 777 /etc /usr'
find='find / -xdev -name left; find /dev /tmp /work -name left; find /etc /usr -maxdepth 0 -perm 777'
for ((i = 0; i < 10; i++)); do
	begin=$(now_ms)
	spec "$made; $find; $leave; exit 0"
	one=$(answer)
	spec "$made; $find; $leave; exit 0"
	two=$(answer)
	spec "$made; $find; $leave; exit 0"
	three=$(answer)
	took=$(($(now_ms) - begin))
	assert_eq "$(printf "%s\n" "$one" "$two" "$three" | wc -l)" 3 "lines: what runs have found of others: $one $two $three"
	[ "$took" -lt 900 ] && break
done
[ "$took" -ge 900 ] || [ "$one" = "$two" ] || assert_eq "$three" "$two" "root of a run and of the next"
two=$three

spec "$made; cat /etc/hostname" '"sandbox": {"hostname": "another"}'
other=$(answer)
assert_eq "${other#*$'\n'}" "another" "host name"
assert_ne "${other%%$'\n'*}" "$two" "root of another host name"

# Two at once: each says when it began and when it was to end, as one may be kept from beginning until
# the other is over; the next two take longer then.
naps=(0.5 1 2 4 8)
at_once=0 missed=0
while [ "$at_once" -lt 3 ] && [ "$missed" -lt "${#naps[@]}" ]; do
	for i in 1 2; do
		spec "$made; date +%s%N; sleep ${naps[missed]}; date +%s%N"
	done
	mapfile -t this <<<"$(answer)"
	mapfile -t that <<<"$(answer)"
	assert_eq "${#this[@]} ${#that[@]}" "3 3" "lines of ${this[*]} and of ${that[*]}"
	[ "${this[1]}" -lt "${that[2]}" ] && [ "${that[1]}" -lt "${this[2]}" ] || {
		missed=$((missed + 1))
		continue
	}
	at_once=$((at_once + 1))
	assert_ne "${this[0]}" "${that[0]}" "roots of two at once"
done
assert_eq "$at_once" 3 "times that two were there at once"

spec "$made"
one=$(answer)
# What is waited for is the age itself.
sleep 1.1
spec "$made"
assert_ne "$(answer)" "$one" "a root a second later"
exec 5>&-
wait $batch
assert_eq $? 0 "exit status"
