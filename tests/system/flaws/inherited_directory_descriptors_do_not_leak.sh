#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# CVE-2024-21626: a descriptor of a folder of the host that the payload inherits is
# a way out, by fchdir or as /proc/self/fd/N
# security

. "${0%/*}/../../lib/system.sh"

helpers=${MENACE_HELPERS:-$repo/build/bin/helpers}
need_file "$helpers/show-fds"
install -m 755 "$helpers/show-fds" "$tmp/show-fds"

exec 7</ 8</etc 9<"$tmp" {high}</proc {higher}</
run_plain "$tmp/show-fds"
for fd in 7 8 9 "$high" "$higher"; do
	assert_contains "$stdout" "$fd leads to /" "control"
done

check()
{
	run "$@" --ro "$tmp/show-fds:/show-fds" -- /show-fds
	assert_status 0
	assert_eq "$(cut -d' ' -f1,2 <<<"$stdout" | tr '\n' ';')" "0 pipe;1 pipe;2 pipe;" \
		"descriptors inside"
	run "$@" -- sh -c 'cd /work; pwd -P; ls -ld /proc/self/cwd | sed "s/.*-> //"'
	assert_eq "$stdout" $'/work\n/work' "working directory"
}
check
check --userns
check --level 2
check --workspace "$tmp"

# Nor do our own, and none of them by a process that lives on.
run --ro "$tmp/show-fds:/show-fds" -- sh -c 'ls -l /proc/self/fd /proc/$$/fd'
assert_no_match "$stdout" '-> /(etc|root|$)' "descriptors"
