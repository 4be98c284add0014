#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# A template has the programs of telemetry in its kernel: a machine that is restored observes its run at once.
# How long the kernel takes to look through programs is seen from one that wants more of them than a template has.
# lane: machine
. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/qemu.sh"

need_machine
check_leaks

# begin LEVEL: how long it took to begin observing, the shortest of three, in $least.
begin()
{
	local took

	least=

	for _ in 1 2 3; do
		run --backend qemu --timeout 60s --set telemetry.level="$1" -- true
		assert_status 0
		assert_eq "$(json .receipt.guest.start)" restored "start of the machine"
		assert_eq "$(json .telemetry.level)" "$1"
		took=$(json '.telemetry.setup_us | floor')
		[ -n "$least" ] && [ "$least" -le "$took" ] || least=$took
	done
}

begin default
there=$least
begin full
assert_ge "$least" $((2 * there)) "microseconds to load what is missing; what is there took $there"
