#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# CVE-2025-52881: where our own /proc is not one, id maps and limits written there
# would vanish; no run may begin
# security

. "${0%/*}/../../lib/system.sh"

# The leak checker can neither look at itself here nor read its options from /proc.
! grep -q -a __asan_init "$MENACE_RUN" || skip "a leak checker changes the exit status here"

need_root
need_program unshare
cat >"$tmp/fake" <<'SH'
mount -t tmpfs fake /proc && mkdir -p /proc/self/fd && cd /proc || exit 9
# shellcheck disable=SC2046 # words
mkdir $(seq $(($$ + 1)) $(($$ + 100))) && for dir in [0-9]*; do
	: >"$dir/uid_map" && : >"$dir/gid_map" || exit 9
done
exec "$@"
SH
for options in "--userns" "" "--userns --best-effort cgroup" "--best-effort cgroup"; do
	# shellcheck disable=SC2086 # words
	run_plain unshare -m sh "$tmp/fake" "$MENACE_RUN" -q $options -- echo ran
	assert_eq "$status $stdout" "125 " "exit status and output with '$options'"
	assert_match "$stderr" "No such file|not on a proc file system" "message with '$options'"
done
run -- echo ran
assert_eq "$status $stdout" "0 ran" "control: with the true /proc"
