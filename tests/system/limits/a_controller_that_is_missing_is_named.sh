#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Where a controller of control groups is missing its limit refuses the run, or is named by the
# receipt where --best-effort names it; the other limits hold
# security

. "${0%/*}/../../lib/system.sh"

need_root
need_cgroup_mode hybrid

# without CONTROLLER ARGUMENT...: as run does, where its hierarchy is not mounted.
without()
{
	local point

	point=$(awk -v name="$1" '{ n = split($NF, opts, ",") } / - cgroup / { for (i = 1; i <= n; i++)
		if (opts[i] == name) print $5 }' /proc/self/mountinfo | head -n 1)
	[ -n "$point" ] || fail "no hierarchy of $1"
	unshare -m sh -ec 'umount "$1"; shift; exec "$@"' sh "$point" "$MENACE_RUN" -o "$result" "${@:2}" \
		>"$tmp/stdout" 2>"$tmp/stderr"
	status=$?
	stdout=$(<"$tmp/stdout") stderr=$(<"$tmp/stderr")
}

named()
{
	json '.receipt.degraded | map("\(.item): \(.why)") | join("\n")'
}

# controller, which is the item, too; a limit by it; what the receipt calls that, and one of another controller
while read -r controller limit key other; do
	without "$controller" "$limit" -- echo ran
	assert_status 125
	assert_contains "$stderr" "no $controller controller"
	assert_eq "$stdout" ""
	without "$controller" "$limit" --best-effort landlock -- echo ran
	assert_status 125
	without "$controller" "$limit" --best-effort "$controller" -- echo ran
	assert_eq "$status $stdout" "0 ran" "without $controller"
	assert_match "$(named)" "^$controller: no $controller controller: [^
]*\$"
	assert_eq "$(json ".receipt.cgroup.limits | \"\(has(\"$key\")) \(has(\"$other\"))\"")" "false true" \
		"limits that the kernel shows without $controller"
done <<END
cpu --cpus=1 cpu_quota_us pids_max
pids --pids=20 pids_max memory_max_bytes
memory --memory=64M memory_max_bytes pids_max
END

# What nobody asks for is not missed, and what is there is kept.
without cpu -- echo ran
assert_eq "$status $stdout $(named)" "0 ran "
run --cpus 1 --best-effort cpu,memory,pids -- echo ran
assert_status 0
assert_eq "$(named)" ""
assert_eq "$(json '.receipt.cgroup.limits | has("cpu_quota_us")')" true "the share of processors"
