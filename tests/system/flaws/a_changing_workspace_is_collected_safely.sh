#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# CVE-2024-28185 as a race: the payload's children go on exchanging files for links while
# the run ends; nothing of the host is read
# security

. "${0%/*}/../../lib/system.sh"

helpers=${MENACE_HELPERS:-$repo/build/bin/helpers}
need_root
need_file "$helpers/flip-link"
mkdir "$tmp/work" "$tmp/host"
echo "host secret" >"$tmp/host/file"
for ((i = 0; i < 8; i++)); do
	rm -rf "$tmp/out"
	run --workspace "$tmp/work" --keep-changes "$tmp/out" --ro "$helpers/flip-link:/flip" -- sh -c '
		mkdir dir; echo mine >dir/file; ln -s "'"$tmp/host"'" link
		echo mine >file; ln -s "'"$tmp/host/file"'" other
		(trap "" HUP TERM; setsid /flip dir link >/tmp/1 & setsid /flip file other >/tmp/2 &) 2>&1
		until [ -s /tmp/1 ] && [ -s /tmp/2 ]; do sleep 0.001; done'
	assert_status 0
	assert_eq "$(find "$tmp/out" -type f -exec cat {} + | sort -u)" mine "contents kept in run $i"
	assert_eq "$(find "$tmp/out" -type l | wc -l)" 2 "links kept in run $i"
	assert_eq "$(json .leftover_killed)" 2 "flipping children at the end"
done
assert_eq "$(cat "$tmp/host/file")" "host secret" "the host file"
