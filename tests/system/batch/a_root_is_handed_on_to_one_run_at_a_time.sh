#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# In a batch nothing that a run does to its root reaches the next one that gets it, two runs at the same
# time never have the same root, and no run gets one of another kind or one that is a second old
#
# security

. "${0%/*}/../../lib/system.sh"

need_root
need_cgroups
mkfifo "$tmp/in" "$tmp/out"
mkdir -m 777 "$tmp/came"
mkdir "$tmp/gate"
mkfifo "$tmp/gate/open"
"$MENACE_RUN" --batch -j 2 -t "$(scaled 60)" --rw "$tmp/came:/came" --ro "$tmp/gate:/gate" <"$tmp/in" >"$tmp/out" &
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
leave='echo a >/tmp/left; echo a >/etc/left; mkdir /run/left; ln -s a /dev/left; chmod 777 /etc /usr'
find='find / -xdev -name left; find /dev /tmp /work -name left; find /etc /usr -maxdepth 0 -perm 777'
for ((i = 0; i < 8; i++)); do
	spec "$made; $find; $leave; exit 0"
	last=$(answer)
	assert_match "$last" '^20[0-9-]+ [^'$'\n'']*$' "the root's time, and nothing of another run"
done

spec "$made; cat /etc/hostname" '"sandbox": {"hostname": "another"}'
other=$(answer)
assert_eq "${other#*$'\n'}" "another" "host name"
assert_ne "${other%%$'\n'*}" "$last" "root of another host name"

# Two at once: neither ends before both have begun.
have_come()
{
	[ "$(find "$tmp/came" -type f | wc -l)" -eq 2 ]
}
for ((i = 0; i < 3; i++)); do
	spec "$made; : >/came/1; : </gate/open"
	spec "$made; : >/came/2; : </gate/open"
	wait_until 50 have_come || fail "no two at once"
	exec 7<>"$tmp/gate/open"
	one=$(answer)
	two=$(answer)
	assert_match "$one|$two" '^20.*\|20' "times of the roots"
	assert_ne "$one" "$two" "roots of two at once"
	exec 7>&-
	rm "$tmp/came/"*
done

# The age of a root counts from when it was made: one that a run had for a second is nobody's after it.
spec "$made; sleep 1.1"
one=$(answer)
spec "$made"
assert_ne "$(answer)" "$one" "a root a second later"
exec 5>&-
wait $batch
assert_eq $? 0 "exit status"
