#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Seen from inside, cpu leaves a tenth of the share, and timeout ends the program at the time that was drawn
# lane: soak (bounds processor time and the time of the end)

. "${0%/*}/../../lib/system.sh"

need_root
need_cgroups
need_system_program python3 perl

failure()
{
	json ".failures[] | select(.mode == \"$1\") | .$2"
}

spin='import time
begin = time.process_time()
end = time.monotonic() + 1.5
n = 0
while time.monotonic() < end:
    n += 1
print(int((time.process_time() - begin) * 1000))'

# On a busy host it waits for others first, and may get less than its tenth, or whoever takes the rest away is late: that
# is tried again.
held_back()
{
	run -t "$(scaled 20)" --cpus 1 --set failure.modes=cpu --set failure.seed=1 -- python3 -c "$spin"
	assert_status 0
	assert_eq "$(failure cpu fired)" "$(failure cpu opportunities)" "at an intensity of 100"
	assert_eq "$(failure cpu cpus)" 0.1 "share"
	# CPU in 1.5 s at a tenth, and what was running when it ended; stretches of half a second.
	[ "$stdout" -le 400 ] && [ "$(failure cpu opportunities)" -ge 3 ] && [ "$(failure cpu ns)" -ge 900000000 ]
}
patiently held_back || fail "it had $stdout ms of CPU, and waited for its share for $(failure cpu ns) ns"

# A tick for each 5 ms that the program has lived, on which others on this machine may keep it waiting.
tick='
$| = 1;
use Time::HiRes qw(clock_gettime sleep CLOCK_MONOTONIC);
my $begin = clock_gettime(CLOCK_MONOTONIC);
for (;;) { printf "%d\n", 1000 * (clock_gettime(CLOCK_MONOTONIC) - $begin); sleep 0.005 }'
ticks_until()
{
	local last

	run --set failure.modes=timeout --set failure.seed=3 --set failure.timeout_ms="$(scaled 2000)" -- perl -e "$tick"
	assert_status 137
	last=$(tail -n 1 <<<"$stdout")
	at=$(($(failure timeout at_ns) / 1000000))
	[ "$(wc -l <<<"$stdout")" -ge 2 ] || return 1 # ended before its second tick
	[ "$last" -ge $((at - $(scaled 200))) ] && [ "$last" -le $((at + 50)) ]
}
patiently ticks_until || fail "it saw the end at another time than $at ms: $(tail -n 2 <<<"$stdout")"
