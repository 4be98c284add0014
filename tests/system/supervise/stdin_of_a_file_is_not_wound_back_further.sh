#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Bytes that the payload leaves in its pipe are given back to the caller's file.  Run by an
# ordinary user it can write into that pipe itself: that winds back what it was given, and
# not what the caller had read before

. "${0%/*}/../../lib/system.sh"

need_unprivileged_user
install -m 755 "$MENACE_RUN" "$tmp/menace-run"
run_plain "${as_user[@]}" "$tmp/menace-run" -q --best-effort cgroup,private-inodes -- true
[ "$status" -eq 0 ] || skip "no unprivileged runs here: $stderr"

seq 1 20 >"$tmp/lines"
{
	for _ in 1 2 3 4 5 6 7 8 9 10; do
		read -r line
	done
	"${as_user[@]}" "$tmp/menace-run" -q --best-effort cgroup,private-inodes -- \
		sh -c 'exec 3<>/proc/self/fd/0 && printf "%9s" x >&3'
	read -r line
} <"$tmp/lines"
assert_eq "$line" 11 "line after the run"
