#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Whether it boots or is restored, a machine has clocks and timers by the nanosecond, not by the kernel's tick,
# which is 4 ms.
# lane: machine
. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/qemu.sh"

need_machine
need_system_program perl

# shellcheck disable=SC2016  # Perl's own
code='use Time::HiRes qw(clock_gettime clock_getres usleep CLOCK_MONOTONIC);
printf "resolution %d ns\n", clock_getres(CLOCK_MONOTONIC) * 1e9;
my $least = 1;
for (1 .. 50) {
	my $begin = clock_gettime(CLOCK_MONOTONIC);
	usleep(500);
	my $took = clock_gettime(CLOCK_MONOTONIC) - $begin;
	$least = $took if $took < $least;
}
print $least >= 0.0005 && $least < 0.0035 ? "fine\n" : "coarse: $least s\n";'
for template in 0 1; do
	MENACE_QEMU_TEMPLATE=$template run --backend qemu --timeout 60s -- perl -e "$code"
	assert_status 0
	assert_eq "$stdout" $'resolution 1 ns\nfine' "clock with MENACE_QEMU_TEMPLATE=$template"
done
