#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# A lease that nobody holds is swept with the groups of its name; a name that
# could lead elsewhere is not followed
# security
# kernel gate

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/docker.sh"
. "$repo/tests/lib/runs.sh"

with_own_leases
need_root
need_cgroups
check_leaks

# Where groups of a run are made from here: a living one shows it.
mkfifo "$tmp/out" "$tmp/go"
"$MENACE_RUN" -q -t "$(scaled 60)" -- sh -c 'echo ready; read -r word' <"$tmp/go" >"$tmp/out" &
living=$!
exec 3>"$tmp/go" 4<"$tmp/out"
read -r -u 4 word
assert_eq "$word" ready
leases=/run/menace/leases
id=$(run_id_of "$living") || fail "no run of process $living"
lease=/run/menace/leases/$id
[ -f "$lease" ] || fail "no lease $lease"
mapfile -t groups < <(find /sys/fs/cgroup -type d -name "$id")
[ "${#groups[@]}" -gt 0 ] || fail "no group of $lease anywhere"

id=00000000000000000000000000
remove_all()
{
	rm -f "$leases/$id" "$leases/stray"
	rmdir "${made[@]/%//inner}" "${made[@]}" 2>/dev/null
}
at_exit remove_all
cp "$lease" "$leases/$id"
made=()
for group in "${groups[@]}"; do
	made+=("$(dirname "$group")/$id")
	mkdir "${made[-1]}" "${made[-1]}/inner" || fail "cannot make ${made[-1]}"
done

run -v -- true
assert_status 0
assert_contains "$stderr" "removed what 1 crashed runs had left"
assert_absent "$leases/$id"
for group in "${made[@]}"; do
	assert_absent "$group"
done

for group in "${groups[@]}"; do
	[ -d "$group" ] || fail "$group of a living run is gone"
done
echo >&3
wait "$living"
assert_eq $? 0 "exit status of the living run"

# A lease that names other places does nothing there.
mkdir -p "$tmp/place/menace/$id"
printf '%s\n' "$tmp/place" /etc relative "$(printf 'x%.0s' {1..5000})" >"$leases/$id"
run -v -- echo ran
assert_eq "$status:$stdout" 0:ran
[ -d "$tmp/place/menace/$id" ] || fail "a folder that is no group was removed"

# Not the name of a run: nothing is done to a group because of it.
ln -s /etc/passwd "$leases/stray"
run -v -- true
assert_status 0
assert_eq "$stdout" ""
[ -f /etc/passwd ] || fail "a link among the leases was followed"
