#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# A file system of its own below /usr, a mount on that one, a single file that is a mount
# and a mount in /etc are seen inside as on the host, and are as little a way to write or
# to meet by locks; a folder that cannot be an overlay is no silent exception
# security

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/meet.sh"

need_meet
need_program unshare

# Runs the rest in a mount namespace of its own where the host looks like that.
cat >"$tmp/host" <<'EOF'
set -e
mount -t tmpfs -o size=1m,mode=755 menace-test /usr/local
echo outer >/usr/local/mark
echo file >/usr/local/file
mkdir "/usr/local/in ner"
mount -t tmpfs -o size=1m,mode=755 menace-test "/usr/local/in ner"
echo inner >"/usr/local/in ner/mark"
mount --bind "/usr/local/in ner/mark" /usr/local/file
mount -t tmpfs -o size=1m,mode=755 menace-test /etc/alternatives
echo etc >/etc/alternatives/mark
exec "$@"
EOF

# In a user namespace the kernel does not let an overlay uncover what a mount covers.
run_plain unshare -m sh "$tmp/host" "$MENACE_RUN" --userns -- true
assert_status 125
assert_contains "$stderr" "/usr: something is mounted below it" "message"
assert_contains "$stderr" "--best-effort private-inodes" "message"

for options in "" "--userns --best-effort private-inodes"; do
	# shellcheck disable=SC2086 # words
	run_plain unshare -m sh "$tmp/host" "$MENACE_RUN" -q $options -- sh -c '
		cat /usr/local/mark "/usr/local/in ner/mark" /usr/local/file /etc/alternatives/mark
		for place in /usr/local "/usr/local/in ner" /etc/alternatives; do
			(: >"$place/new") 2>/dev/null && echo "$place written"
		done; :'
	assert_status 0
	assert_eq "$stdout" $'outer\ninner\ninner\netc' "what is mounted, with '$options'"
done

# shellcheck disable=SC2016 # for the inner shell
run_plain unshare -m sh "$tmp/host" bash -c '
	coproc put { "$1" -q --ro "$2:/meet" -- /meet put "/usr/local/in ner/mark"; }
	while read -r line <&"${put[0]}" && [ "$line" != ready ]; do :; done
	echo "$line"
	"$1" -q --ro "$2:/meet" -- /meet get "/usr/local/in ner/mark" | grep " found$"
	:' bash "$MENACE_RUN" "$tmp/meet"
assert_eq "$stdout" ready "signs found through a mount"

# As many overlays on each other as the kernel takes: one more, the view, is refused.
cat >"$tmp/deep" <<'EOF'
set -e
mkdir -p "$TOP/empty"
top=/usr
for level in 1 2 3 4; do
	mkdir -p "$TOP/$level"
	mount -t overlay -o "lowerdir=$top:$TOP/empty" menace-test "$TOP/$level" 2>/dev/null || break
	top=$TOP/$level
done
[ "$level" -lt 4 ]
mount --bind "$top" /usr
mount -t tmpfs -o size=1m,mode=755 menace-test /etc/alternatives
echo etc >/etc/alternatives/mark
exec "$@"
EOF
mkdir "$tmp/top"
export TOP=$tmp/top
run_plain unshare -m sh "$tmp/deep" "$MENACE_RUN" -- true
assert_status 125
assert_contains "$stderr" "/usr: file system overlay" "message"
assert_contains "$stderr" "--best-effort private-inodes" "message"
run_plain unshare -m sh "$tmp/deep" "$MENACE_RUN" -q --best-effort private-inodes -o "$tmp/result.json" -- \
	/bin/cat /etc/alternatives/mark
assert_status 0
# What could be a view is one, with what is mounted below it.
assert_eq "$stdout" etc
assert_eq "$(jq -r '.receipt.degraded[] | .item' "$tmp/result.json")" private-inodes "what the receipt calls degraded"
