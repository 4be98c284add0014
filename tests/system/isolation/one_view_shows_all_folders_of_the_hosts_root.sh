#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# What is shown of the host's root comes from one overlay, of which nothing but those folders
# can be reached; a folder that is a mount of its own, or a link, has its own and shows what
# the host shows
# security

. "${0%/*}/../../lib/system.sh"

need_root
need_program unshare

# How many overlays there are in a table of mounts.
count_views()
{
	awk '$0 ~ / - overlay / { print $3 }' <<<"$1" | sort -u | wc -l
}

run -- cat /proc/self/mountinfo
assert_eq "$(count_views "$stdout")" 1 "overlays"
assert_eq "$(awk '$0 ~ / - overlay / { print $4 }' <<<"$stdout" |
	grep -v -E '^/(usr|lib|lib32|lib64|libx32|bin|sbin|etc)(/|$)')" "" "what else of the host's root is mounted"

# No way leads above a folder, neither by its name nor from within.
run -- sh -c 'for dir in /usr /usr/lib /etc/alternatives /etc/ssl/certs; do
	cd "$dir" && cd -P ../../../.. && ls -A . && ls -A "$dir/.."; done | sort -u'
assert_eq "$(grep -x -E 'root|home|boot|sys|srv|opt|mnt|media' <<<"$stdout")" "" \
	"folders of the host that can be reached"

# Runs the rest in a mount namespace of its own where /etc and /usr are mounts.
cat >"$tmp/mounted" <<'EOF'
set -e
mount --bind /usr /usr
mount -t tmpfs -o size=1m,mode=755 menace-test /usr/local
echo mounted >/usr/local/mark
mount -t tmpfs -o size=1m,mode=755 menace-test /etc
mkdir /etc/alternatives
echo mounted >/etc/alternatives/mark
exec "$@"
EOF
run_plain unshare -m sh "$tmp/mounted" "$MENACE_RUN" -q -- sh -c '
	cat /usr/local/mark /etc/alternatives/mark && [ -x /usr/bin/true ] && cat /proc/self/mountinfo'
assert_status 0
assert_eq "$(head -n 2 <<<"$stdout")" $'mounted\nmounted' "folders that are mounts"
assert_eq "$(count_views "$stdout")" 3 "overlays of the mounts"

# Where /etc is a link it is what the link leads to.
cat >"$tmp/linked" <<'EOF'
set -e
root=$1
repo=$2
shift 2
mount -t tmpfs -o size=1m,mode=755 menace-test "$root"
cd "$root"
# The checkout may be anywhere, and its programs are what is run.
for dir in /usr /dev /proc /run /sys /tmp "$repo"; do
	mkdir -p ".$dir"
	mount --rbind "$dir" ".$dir"
done
for link in bin sbin lib lib32 lib64; do
	[ ! -L "/$link" ] || cp -a "/$link" "$link"
done
mkdir -p real/alternatives old
echo linked >real/alternatives/mark
ln -s real etc
pivot_root . old
umount -l old
exec "$@"
EOF
mkdir "$tmp/root"
run_plain unshare -m sh "$tmp/linked" "$tmp/root" "$repo" "$MENACE_RUN" -q -- cat /etc/alternatives/mark
assert_status 0
assert_eq "$stdout" linked "a linked folder"
