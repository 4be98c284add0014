#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# isolate before 2.6: the meta file was opened with the caller's user but root's group
# security

. "${0%/*}/../../lib/system.sh"

need_unprivileged_user
install -d -o 65534 -g 65534 "$tmp/user" "$tmp/user/work"
install -d -o 0 -g 0 -m 775 "$tmp/group-root"
install -d -o 65534 -g 65534 -m 500 "$tmp/closed"
export XDG_RUNTIME_DIR=$tmp/user
ours=("${as_user[@]}" "$MENACE_RUN" -q --best-effort cgroup)

run_plain "${ours[@]}" -o "$tmp/user/result" --workspace "$tmp/user/work" \
	--keep-changes "$tmp/user/kept" -- sh -c 'mkdir dir; echo x >dir/file; ln -s x link; chmod 1777 dir/file'
assert_status 0
assert_eq "$(find "$tmp/user/result" "$tmp/user/kept" -not \( -user 65534 -group 65534 \))" "" \
	"files of somebody else"
assert_eq "$(stat -c %a "$tmp/user/result")" 644 "mode of the result"
assert_eq "$(find "$tmp/user/kept" -perm /7000)" "" "special mode bits kept"

# Where he may not write, we may not for him: not by group 0 either.
for place in "$tmp/group-root/result" "$tmp/result-of-nobody" /etc/menace-result; do
	run_plain "${ours[@]}" -o "$place" -- echo ran
	assert_refused "--json $place: Permission denied"
	assert_absent "$place"
done
run_plain "${ours[@]}" -o "$tmp/user/result" --workspace "$tmp/user/work" \
	--keep-changes "$tmp/group-root/kept" -- touch new
assert_refused "make $tmp/group-root/kept: Permission denied"
assert_absent "$tmp/group-root/kept"

# As root: root's, whatever the payload was.
run --workspace "$tmp/user/work" --keep-changes "$tmp/kept" -- sh -c 'echo x >file; chmod 1777 file'
assert_status 0
assert_eq "$(find "$result" "$tmp/kept" -not \( -user 0 -group 0 \))" "" "files of somebody else"
assert_eq "$(find "$tmp/kept" -perm /7000)" "" "special mode bits kept"
