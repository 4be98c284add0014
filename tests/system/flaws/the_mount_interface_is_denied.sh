#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# CVE-2021-41133: a list of denied calls did not know the newer ones
#
# Each call of the list, with arguments that the kernel would refuse in another way
# security

. "${0%/*}/../../lib/system.sh"

helpers=${MENACE_HELPERS:-$repo/build/bin/helpers}
need_file "$helpers/probe-syscalls"
install -m 755 "$helpers/probe-syscalls" "$tmp/probe"

run_plain "$tmp/probe"
assert_status 1
assert_ge "$(grep -c ' expected ' "$tmp/stdout")" 40 "control: calls not denied outside"

check()
{
	run "$@" --ro "$tmp/probe:/probe" -- /probe
	assert_eq "$(grep ' expected ' "$tmp/stdout")" "" "calls not denied with '$*'"
	assert_status 0
	for call in mount umount2 pivot_root move_mount open_tree fsopen fsconfig fsmount fspick \
		mount_setattr clone_newuser clone_newns unshare setns; do
		assert_contains $'\n'"$stdout" $'\n'"$call EPERM" "answers"
	done
	assert_contains $'\n'"$stdout" $'\nclone3 ENOSYS' "answers"
}
check
check --userns
check --net loopback

# And each denial is told, with its name.
run --ro "$tmp/probe:/probe" -- /probe
for call in mount open_tree fsopen setns keyctl bpf; do
	assert_eq "$(json "[.denials.rows[] | select(.what == \"$call\" and .layer == \"seccomp\")] | length")" \
		1 "denials of $call"
done
