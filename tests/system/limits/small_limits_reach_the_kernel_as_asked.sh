#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# A tenth of a processor is 10 ms of each 100 ms and never none, four mebibytes are 4194304 bytes: as flags
# and as variables of a preset, by the kernel's own files while the program runs
# security
# kernel gate

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/runs.sh"

need_root
need_cgroups

# shown RUN FILE: what the file of its group says, in whichever hierarchy it is.
shown()
{
	local file

	file=$(find /sys/fs/cgroup -path "*/menace/$1/$2" 2>/dev/null)
	[ -n "$file" ] || fail "no $2 in a group of $1"
	cat "$file"
}
# check OPTIONS...
check()
{
	local pid id

	mkfifo "$tmp/ready" "$tmp/go"
	"$MENACE_RUN" -q -t "$(scaled 60)" -o "$result" "$@" -- sh -c 'echo; read -r go' <"$tmp/go" >"$tmp/ready" &
	pid=$!
	exec 3>"$tmp/go"
	read -r _ <"$tmp/ready"
	id=$(run_id_of "$pid") || fail "no run of process $pid"
	if [ "$host_cgroups" = v2 ]; then
		assert_eq "$(shown "$id" cpu.max)" "10000 100000" "cpu.max with $*"
		assert_eq "$(shown "$id" memory.max)" 4194304 "memory.max with $*"
	else
		assert_eq "$(shown "$id" cpu.cfs_quota_us) $(shown "$id" cpu.cfs_period_us)" "10000 100000" "quota with $*"
		assert_eq "$(shown "$id" memory.limit_in_bytes)" 4194304 "memory with $*"
	fi
	echo go >&3
	exec 3>&-
	wait "$pid" || fail "status $?"
	assert_eq "$(json '.receipt.cgroup.limits | [.cpu_quota_us.value, .cpu_period_us.value, .memory_max_bytes.value] | map(tostring) | join(" ")')" \
		"10000 100000 4194304" "receipt"
	rm "$tmp/ready" "$tmp/go"
}
check --cpus 0.1 -m 4Mi
check -p '{"CPU_LIMIT": "0.1", "MEMORY_LIMIT": "4Mi"}'
