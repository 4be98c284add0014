#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Sockets bound to the relay's device, sources of somebody else, multicast, commands and system calls:
# nothing comes sooner than the delay, and it is in force afterwards as before
# security

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/limits.sh"
. "$repo/tests/lib/link.sh"

need_tun
need_system_program python3
for program in tc ip; do
	[ -x /usr/sbin/$program ] || [ -x /usr/bin/$program ] || skip "no program $program"
done

shaped latency_ms=40 engine=tun
for level in 2 3; do
	run "${options[@]}" --level $level -t "$(scaled 60)" \
		--ro "$repo/tests/lib/link-attacks.py:/attacks.py" -- python3 /attacks.py 40
	assert_status 0
	assert_eq "$(grep -v ' held$' <<<"$stdout")" "" "what came through at level $level"
	assert_eq "$(wc -l <<<"$stdout")" 33 "what was tried"
	# What went to the device itself never came to the relay: it has passed on what came over lo.
	assert_eq "$(shaping state)" enforced
	assert_le "$(json ".receipt.network.shaping.measured.relay | .packets + .waiting")" 20 "packets of the relay"
	assert_eq "$(shaping measured.relay.refused)" 0
done
