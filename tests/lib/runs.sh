# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# Looking at runs from outside

# run_id_of PID: the run that this menace-run drives, by the group of its child.
run_id_of()
{
	local child children id

	read -r -a children 2>/dev/null <"/proc/$1/task/$1/children" || true
	for child in "${children[@]}"; do
		id=$(sed -n 's|.*/menace/\([0-9a-z]\{26\}\)$|\1|p' "/proc/$child/cgroup" 2>/dev/null | head -n 1)
		[ -n "$id" ] && echo "$id" && return
	done
	return 1
}

# Leases that no process holds any more.
list_stale_leases()
{
	local lease inode

	for lease in /run/menace/leases/*; do
		inode=$(stat -c %i "$lease" 2>/dev/null) || continue
		grep -q ":$inode " /proc/locks || [ ! -e "$lease" ] || echo "$lease"
	done
}
