#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# A lease that nobody holds is swept with the groups of its name; a name that
# could lead elsewhere is not followed
# serial

. "$(dirname "$0")/../../lib/system.sh"

need_root
need_cgroups
check_leaks

run -- true
assert_status 0
leases=/run/menace/leases
id=00000000000000000000000000
at_exit rm -f "$leases/$id" "$leases/stray"
echo 'pid 1' >"$leases/$id"
made=()
for menace in $(find /sys/fs/cgroup -type d -name menace); do
	mkdir "$menace/$id" "$menace/$id/inner" 2>/dev/null && made+=("$menace/$id")
done
[ "${#made[@]}" -gt 0 ] || fail "no group called menace anywhere"

run -v -- true
assert_status 0
assert_contains "$stderr" "removed what 1 crashed runs had left"
assert_absent "$leases/$id"
for group in "${made[@]}"; do
	assert_absent "$group"
done

# Not the name of a run: nothing is done to a group because of it.
ln -s /etc/passwd "$leases/stray"
run -v -- true
assert_status 0
assert_eq "$stdout" ""
[ -f /etc/passwd ] || fail "a link among the leases was followed"
