#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# CVE-2025-52881: where our own /proc is not one, id maps and limits written there
# would vanish; no run may begin

. "$(dirname "$0")/../../lib/system.sh"

need_root
need_program unshare
cat >"$tmp/fake" <<'SH'
mount -t tmpfs fake /proc && mkdir /proc/self && : >/proc/self/uid_map && : >/proc/self/gid_map &&
	cp /dev/null /proc/self/mountinfo || exit 9
i=1
while [ $i -lt 400 ]; do
	mkdir -p "/proc/$(($$ + i))"
	: >"/proc/$(($$ + i))/uid_map"
	: >"/proc/$(($$ + i))/gid_map"
	i=$((i + 1))
done
exec "$@"
SH
for options in "--userns" "" "--userns --best-effort cgroup" "--best-effort cgroup"; do
	# shellcheck disable=SC2086 # words
	run_plain unshare -m sh "$tmp/fake" "$MENACE_RUN" -q $options -- echo ran
	assert_ne "$status" 9 "status of the preparation"
	assert_eq "$status" 125 "exit status with '$options'"
	assert_eq "$stdout" "" "output with '$options'"
	assert_match "$stderr" "/proc|proc file system|control group" "message with '$options'"
done
