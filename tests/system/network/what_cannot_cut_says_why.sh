#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Where the program that cuts cannot be put on the link, whoever tolerates that is told by which step and why,
# and the rest of the link is made

. "${0%/*}/../../lib/system.sh"

need_root
need_unprivileged_user

# An ordinary user's kernel loads no programs of his.
cut()
{
	run_plain "${as_user[@]}" "$MENACE_RUN" -o - --best-effort cgroup --net loopback "$@" -- sh -c 'echo ran >&2'
}

result()
{
	jq -r "$1" "$tmp/stdout"
}

refused="tc-BPF: make its map: Operation not permitted"
no_cut="the program that loses packets could not be put on the link: $refused; \
it takes the capabilities BPF and NET_ADMIN over the first user namespace"

for faults in "--net-fault partition@0.." "--set failure.modes=network_partition"; do
	for rest in "" "--set net.rate=10mbit"; do
		# shellcheck disable=SC2086 # options
		cut $faults $rest
		assert_status 125
		assert_contains "$stderr" "shape: $refused" "without tolerance: $faults $rest"
		# shellcheck disable=SC2086
		cut $faults $rest --best-effort net --best-effort FAILURE_MODES
		assert_status 0
		assert_contains "$stderr" ran "$faults $rest"
		assert_eq "$(result '.failures[0].why // .receipt.network.faults[0].why')" "$no_cut" "$faults $rest"
		[ -z "$rest" ] || assert_eq "$(result '.receipt.network.shaping | [.state, .applied.rate] | tostring')" \
			'["enforced",10000000]'
	done
done
