#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# cpu leaves a tenth of the share, memory a quarter of the limit, timeout ends the run at a time
# that the seed decides: all seen from inside, told with their sizes, and the same with the same
# seed; what could not happen is inconclusive

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
assert_eq "$(json .inconclusive)" false
run -t "$(scaled 20)" --cpus 0.5 --set failure.modes=cpu --set failure.intensity=0 -- sleep 0.1
assert_ge "$(failure cpu opportunities)" 1
assert_eq "$(failure cpu fired) $(failure cpu ns) $(failure cpu cpus)" "0 0 null"
run -t "$(scaled 20)" --set failure.modes=cpu -- true
assert_eq "$(failure cpu cpus)" 0.1 "share where none was asked for"
assert_match "$(json .failure_seed)" '^[0-9]+$' "a seed is drawn"

# 32 of 64 MiB go well, and not where 16 are left.
helper=$MENACE_HELPERS/eat-memory
preread "$helper"
run -m 64M --ro "$helper:/eat" -- /eat anon 33554432
assert_eq "$stdout" "ate 33554432" "control"
run -m 64M --set failure.modes=memory --ro "$helper:/eat" -- /eat anon 33554432
assert_reason oom
assert_eq "$(failure memory bytes) $(failure memory limit_bytes)" "50331648 16777216"
assert_eq "$(failure memory opportunities) $(failure memory fired)" "1 1"
# It is at its new limit, and nowhere before, that the program meets it.
run -m 64M --set failure.modes=memory --ro "$helper:/eat" -- /eat anon 14680064
assert_eq "$stdout" "ate 14680064" "14 of the 16 MiB"
run -m 64M --set failure.modes=memory --ro "$helper:/eat" -- /eat anon 16777216
assert_reason oom
run -m 64M --set failure.modes=memory --set failure.intensity=0 --ro "$helper:/eat" -- /eat anon 33554432
assert_eq "$stdout" "ate 33554432" "where it does not fire"
assert_eq "$(failure memory opportunities) $(failure memory fired) $(failure memory limit_bytes)" "1 0 null"
run --set failure.modes=memory -m 4M -- true
assert_refused "failure.modes: memory: it takes away of a limit"

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

for seed in 1 1 2; do
	run --set failure.modes=timeout --set failure.seed=$seed --set failure.timeout_ms=400 -- sleep 60
	assert_status 137
	assert_reason injected
	assert_eq "$(failure timeout mark)" injected_timeout
	assert_eq "$(failure timeout opportunities) $(failure timeout fired)" "1 1"
	at=$(failure timeout at_ns)
	assert_ge "$at" 20000000
	assert_le "$at" 400000000
	assert_ge "$(json '.usage.wall_us * 1000')" "$at" "time of the end"
	assert_le "$(json .usage.wall_us)" $((at / 1000 + $(scaled 10000000))) "time of the end"
	ats+=("$at")
done
assert_eq "${ats[1]}" "${ats[0]}" "the same seed"
assert_ne "${ats[2]}" "${ats[0]}" "another seed"
run --set failure.modes=timeout --set failure.timeout_ms=20s --set failure.seed=7 -- true
assert_status 0
assert_eq "$(json '[.inconclusive, .inconclusive_why[]] | join(" ")')" "true timeout: it had no opportunity"
