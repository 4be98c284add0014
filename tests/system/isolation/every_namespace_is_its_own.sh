#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# No namespace but the time of day is shared with the host or with another run, and the
# receipt tells their true numbers
# security
# kernel gate

. "${0%/*}/../../lib/system.sh"

kinds='mnt pid ipc uts cgroup net time'
look='for n in user '$kinds'; do readlink /proc/self/ns/$n; done'
check()
{
	local first kind number

	run "$@" -- sh -c "$look"
	first=$stdout
	for kind in $kinds; do
		number=$(grep "^$kind:" <<<"$first")
		assert_match "$number" "^$kind:\[[0-9]+\]$" "namespace"
		assert_ne "$number" "$(readlink /proc/self/ns/"$kind")" "namespace $kind with '$*'"
		assert_eq "$kind:[$(json ".receipt.namespaces.inodes.$kind")]" "$number" "$kind in the receipt"
	done
	# What another run has at the same time.
	coproc other { "$MENACE_RUN" -q "$@" -- sh -c "$look; echo ready; cat"; }
	# shellcheck disable=SC2154 # set by coproc
	while read -r line <&"${other[0]}" && [ "$line" != ready ]; do echo "$line"; done >"$tmp/other"
	run "$@" -- sh -c "$look"
	eval "exec ${other[1]}>&-"
	wait "$other_PID" 2>/dev/null
	for kind in $kinds; do
		assert_ne "$(grep "^$kind:" "$tmp/other")" "$(grep "^$kind:" <<<"$stdout")" "$kind of two runs"
	done
}
check
check --userns
assert_ne "$(grep ^user: <<<"$stdout")" "$(readlink /proc/self/ns/user)" "user namespace"
run --net host -- readlink /proc/self/ns/net
assert_eq "$stdout" "$(readlink /proc/self/ns/net)" "control: the host's network, asked for"
